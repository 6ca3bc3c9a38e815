import SnapshotEngine
import SnapshotVersions
import StrictText

/// When cron runs something: every so many minutes or hours, beginning at an offset of one's own.
///
/// Cron counts minutes within the hour and hours within the day; an interval that does not divide them evenly would be cut short
/// at each full hour or midnight, and is refused.
struct CronTime: Hashable, Sendable {
    /// The five fields: `7-59/15 * * * *`.
    let fields: String
    /// How many seconds to wait first, where the fields leave no room for an offset.
    let pause: Int

    /// - Throws: ``SyncError`` with `.refused`, which names the nearest intervals that cron can keep.
    init(seconds: Int, seed: UInt64) throws {
        guard Self.possible.contains(seconds) else { throw Self.refusal(seconds) }
        let minutes = seconds / 60, hours = minutes / 60
        let minute = Int(seed % UInt64(min(minutes, 60))), hour = Int(seed / 60 % UInt64(max(1, min(hours, 24))))
        pause = minutes == 1 ? Int(seed % 30) : 0
        switch minutes {
        case 1: fields = "* * * * *"
        case ..<60: fields = "\(minute == 0 ? "*" : "\(minute)-59")/\(minutes) * * * *"
        case 60: fields = "\(minute) * * * *"
        case ..<1440: fields = "\(minute) \(hour == 0 ? "*" : "\(hour)-23")/\(hours) * * *"
        default: fields = "\(minute) \(hour) * * *"
        }
    }

    /// Once a week, at a time that follows from the seed.
    init(weeklyBySeed seed: UInt64) {
        fields = "\(seed % 60) \(seed / 60 % 24) * * \(seed / 1440 % 7)"
        pause = 0
    }

    /// In seconds, ascending.
    private static let possible = (1...30).filter { 60 % $0 == 0 }.map { $0 * 60 } + (1...24).filter { 24 % $0 == 0 }.map { $0 * 3600 }

    private static func refusal(_ seconds: Int) -> SyncError {
        let near = [possible.last { $0 < seconds }, possible.first { $0 > seconds }].compactMap { $0 }.map(text)
        return SyncError(
            .refused, at: "every \(AgeText.words(seconds: seconds))",
            "cron cannot keep that interval evenly: it counts minutes within the hour and hours within the day",
            hint:
                "the nearest \(Format.word(near.count, "that it can is", "that it can are")) \(near.joined(separator: " and ")); systemd can keep any, snapsync watch needs none"
        )
    }

    private static func text(_ seconds: Int) -> String { seconds < 3600 ? "\(seconds / 60)m" : "\(seconds / 3600)h" }
}
