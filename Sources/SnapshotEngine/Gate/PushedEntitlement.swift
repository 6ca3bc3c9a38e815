import CloudStore
import SnapshotVersions
import Synchronization

/// An entitlement that the application sets whenever its shop reports a change. The gate reacts at once.
///
///     let shop = PushedEntitlement()
///     let engine = try SyncEngine(database: path, gate: GateOptions(entitlement: shop))
///     for await receipt in receipts { shop.set(Entitlement(isEntitled: receipt.isPaid, validUntil: receipt.end)) }
///
/// Until the process sets an answer, the last answer in the database counts, until its end.
public final class PushedEntitlement: EntitlementProvider {
    private let answer: Mutex<Entitlement?>
    private let broadcast = Broadcast<Void>()

    public init(_ entitlement: Entitlement? = nil) { answer = Mutex(entitlement) }

    /// Sets the answer, and notifies the gate if it has changed.
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
