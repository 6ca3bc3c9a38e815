import Platform
import SnapshotModel
package import StrictText

/// Records, in the times of the lock file, a successful run that had nothing to do, so that the run need not write to the database.
///
/// The modification time is when the run ended, the access time when it began. Instants have microseconds and file times nanoseconds; the last
/// three digits identify the version and the direction of the run. If another program created, copied or touched the lock file, the digits
/// differ. If the file system stores coarser times, the marker cannot be read back and is not used. Only reports for people and the time of the
/// next mailbox listing depend on the marker.
package struct NoOpRunMarker: Sendable {
    private let path: String
    private let digits: Int

    /// The marker for runs of this kind in a database with that version.
    package init(database: String, version: AppliedVersion, kind: RunKind) {
        path = RunLock.path(for: database)
        // FNV-1a. Any function that rarely gives two versions the same digits will do.
        let hash = (version.hash + kind.rawValue).utf8.reduce(UInt64(0xCBF2_9CE4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        digits = Int(hash % 1000)
    }

    /// The last such run, if the marker is there and no other program has changed the file's times since. The duration is nil if a program has
    /// read the file.
    package func read() -> (at: Instant, microseconds: Int64?)? {
        guard let times = FileTimes(ofFile: path), times.byteCount == 0, times.modified.nanoseconds % 1000 == digits else { return nil }
        let at = times.modified.microseconds, began = times.accessed.microseconds
        let isRun = began <= at && times.accessed.nanoseconds % 1000 == digits
        return (Instant(microseconds: at), isRun ? at - began : nil)
    }

    /// Writes the marker.
    ///
    /// - Returns: whether it can be read back. If not, record the run in the database.
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
