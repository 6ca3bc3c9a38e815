package import LocalStore
package import Logging

extension LocalDatabase {
    /// Returns a handler that logs that another program's lock delays this program.
    package static func waiting(for database: String, _ logger: Logger = Logger(label: "snapsync")) -> @Sendable () -> Void {
        { logger.notice("another program holds the lock of \(database); waiting for it, up to 10 s") }
    }
}
