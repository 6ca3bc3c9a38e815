import CloudStore
import StrictText
import Synchronization

/// A backend whose messages take another way than its records: here a list in memory, elsewhere a queue of the application's server.
///
/// It is written as another package writes it, with public declarations alone.
final class RelayedMailbox: CloudDatabaseDecorator {
    let wrapped: any CloudDatabase
    private let waiting = Mutex<[CloudMessage]>([])

    init(before wrapped: any CloudDatabase) { self.wrapped = wrapped }

    /// How many messages wait.
    var count: Int { waiting.withLock(\.count) }

    func send(_ message: CloudMessage, clock: Instant, in zone: ZoneID) async throws {
        let isFree = waiting.withLock { waiting in
            if let there = waiting.first(where: { $0.name == message.name }) { return there == message }
            waiting.append(message)
            return true
        }
        guard isFree else { throw CloudError(.serverRecordChanged, at: message.sender, "another message has that id") }
    }

    func mailbox(_ request: MailboxRequest, in zone: ZoneID) async throws -> CloudMailbox {
        let all = waiting.withLock { $0 }.filter { request.sender == nil || $0.sender == request.sender }
        let sorted = all.sorted { ($0.sender, $0.id) < ($1.sender, $1.id) }
        return CloudMailbox(
            messages: sorted.filter { !request.known.contains($0.id) }, known: sorted.filter { request.known.contains($0.id) }.map(\.name))
    }

    func removeMessage(_ message: CloudMessageName, in zone: ZoneID) async throws { waiting.withLock { $0.removeAll { $0.name == message } } }
}
