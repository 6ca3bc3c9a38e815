import Logging
import Synchronization

/// Keeps what is logged, from the level of information on.
final class CollectedLog: Sendable {
    private let found = Mutex<[(message: String, line: String)]>([])

    /// The messages alone.
    var messages: [String] { found.withLock { $0.map(\.message) } }
    /// The messages with their facts: `key=value`, in the order of the keys.
    var lines: [String] { found.withLock { $0.map(\.line) } }

    var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

    private struct Handler: LogHandler {
        let log: CollectedLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let facts = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
            log.found.withLock { $0.append((event.message.description, "\(event.message)\(facts)")) }
        }
    }
}
