import GRDB
import StrictText

extension Database {
    /// Lets SQL read an RFC 3339 text as microseconds: `snapsync_instant(updatedAt)`, NULL for what is no instant.
    func addInstantFunction() {
        add(
            function: DatabaseFunction("snapsync_instant", argumentCount: 1, pure: true) { values in
                guard case .string(let text) = values[0].storage else { return nil }
                return (try? Instant(parsing: text))?.microseconds
            })
    }
}
