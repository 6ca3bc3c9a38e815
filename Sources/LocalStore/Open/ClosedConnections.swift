import GRDB
import Synchronization

/// Connections that were closed and whose objects stay until the process ends.
///
/// The end of a `DatabaseQueue` asks Foundation's notification center to forget it, and at the first time that looks twice through all of the
/// program's conformances: a twelfth of a run that finds nothing new. An application's process goes on, so it keeps none.
package enum ClosedConnections {
    private static let limit = 16
    private static let kept = Mutex<[any DatabaseWriter]?>(nil)

    /// Keeps the connections that are closed from now on. For a process that ends soon.
    package static func keep() { kept.withLock { $0 = [] } }

    /// Closes a connection that nobody else uses.
    static func close(_ connection: any DatabaseWriter) {
        guard let count = kept.withLock({ $0?.count }), count < limit else { return }
        // What a statement still holds open is closed with the object.
        do { try connection.close() } catch { return }
        kept.withLock { $0?.append(connection) }
    }
}
