import GRDB
import SnapshotModel
import StrictText

extension Database {
    /// Lets SQL read timestamps as microseconds, NULL for what is no instant: `snapsync_instant(updatedAt)` for RFC 3339 text,
    /// `snapsync_instant(changed, 'seconds')` for numbers of a ``TimestampUnit``.
    func addInstantFunction() {
        add(
            function: DatabaseFunction("snapsync_instant", argumentCount: 1, pure: true) { values in
                guard case .string(let text) = values[0].storage else { return nil }
                return (try? Instant(parsing: text))?.microseconds
            })
        add(
            function: DatabaseFunction("snapsync_instant", argumentCount: 2, pure: true) { values in
                guard case .string(let name) = values[1].storage, let unit = TimestampUnit(rawValue: name) else { return nil }
                return switch values[0].storage {
                case .int64(let integer): unit.instant(of: integer)?.microseconds
                case .double(let real): unit.instant(of: real)?.microseconds
                default: nil
                }
            })
    }
}
