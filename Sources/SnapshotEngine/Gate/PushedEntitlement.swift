import CloudStore
import SnapshotVersions
import Synchronization

/// An entitlement that the application sets whenever its shop tells it something; the gate reacts at once.
///
///     let shop = PushedEntitlement()
///     let engine = try SyncEngine(database: path, gate: GateOptions(entitlement: shop))
///     for await receipt in receipts { shop.set(Entitlement(isEntitled: receipt.isPaid, validUntil: receipt.end)) }
///
/// Before the first answer of a process, the last one that the database keeps counts, until its end.
public final class PushedEntitlement: EntitlementProvider {
    private let answer: Mutex<Entitlement?>
    private let broadcast = Broadcast<Void>()

    public init(_ entitlement: Entitlement? = nil) { answer = Mutex(entitlement) }

    /// Sets the answer, and tells the gate if it is another than before.
    public func set(_ entitlement: Entitlement) {
        let hasChanged = answer.withLock { answer in
            defer { answer = entitlement }
            return answer != entitlement
        }
        if hasChanged { broadcast.send(()) }
    }

    public func entitlement() async throws -> Entitlement {
        guard let answer = answer.withLock({ $0 }) else {
            throw SyncError(
                .tryAgainLater, step: .open, at: "entitlement", "the application has not said anything yet", hint: "wait until it has asked its shop")
        }
        return answer
    }

    public var changes: AsyncStream<Void>? { broadcast.listen() }
}
