import Platform
import SnapshotModel
package import StrictText

/// Marks a run that ended well and found nothing to do, in the times of the lock file, so that the run writes no byte.
///
/// The time of the last change is when the run ended, the time of the last access when it began. Instants have microseconds, file
/// times nanoseconds: the last three digits say which version and direction the marker belongs to. A lock file that was made, copied or
/// touched by anything else has other digits, and where a file system keeps coarser times the marker is not found and not used.
/// Only reports for people and the time of the next mailbox listing depend on it.
package struct NoOpRunMarker: Sendable {
    private let path: String
    private let digits: Int

    /// The marker of a run of this kind in a database with that version.
    package init(database: String, version: AppliedVersion, kind: RunKind) {
        path = RunLock.path(for: database)
        // FNV-1a: any function will do that seldom gives two versions the same digits.
        let hash = (version.hash + kind.rawValue).utf8.reduce(UInt64(0xCBF2_9CE4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        digits = Int(hash % 1000)
    }

    /// The last such run, if it left its marker and nothing else has touched the file since; its duration is nil where a program has
    /// read the file.
    package func read() -> (at: Instant, microseconds: Int64?)? {
        guard let times = FileTimes(ofFile: path), times.byteCount == 0, times.modified.nanoseconds % 1000 == digits else { return nil }
        let at = times.modified.microseconds, began = times.accessed.microseconds
        let isRun = began <= at && times.accessed.nanoseconds % 1000 == digits
        return (Instant(microseconds: at), isRun ? at - began : nil)
    }

    /// Leaves the marker.
    ///
    /// - Returns: whether it can be read back; if not, record the run in the database.
    package func write(_ run: RunRecord) -> Bool {
        guard run.microseconds >= 0, run.at.microseconds > run.microseconds else { return false }
        let began = time(run.at.microseconds - run.microseconds)
        guard FileTimes.set(modified: time(run.at.microseconds), accessed: began, ofFile: path), let found = read() else { return false }
        return found.at == run.at && found.microseconds == run.microseconds
    }

    private func time(_ microseconds: Int64) -> FileTimes.Time {
        FileTimes.Time(seconds: Int(microseconds / 1_000_000), nanoseconds: Int(microseconds % 1_000_000) * 1000 + digits)
    }
}
