import SnapshotEngine
import SnapshotVersions
import StrictText

/// The cron fields for a command that runs at an interval of minutes or hours, with an offset.
///
/// Cron counts minutes within the hour and hours within the day. An interval that does not divide them evenly would be cut short at each full
/// hour or midnight, so it is refused.
struct CronTime: Hashable, Sendable {
    /// The five fields: `7-59/15 * * * *`.
    let fields: String
    /// A delay in seconds before the command, if the fields have no room for an offset.
    let pause: Int

    /// - Throws: ``SyncError`` with `.refused`, which names the nearest possible intervals.
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

    /// Once a week, at a time that the seed determines.
    init(weeklyBySeed seed: UInt64) {
        fields = "\(seed % 60) \(seed / 60 % 24) * * \(seed / 1440 % 7)"
        pause = 0
    }

    /// The possible intervals in seconds, ascending.
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
