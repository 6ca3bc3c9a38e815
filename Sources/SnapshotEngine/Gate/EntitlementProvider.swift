public import StrictText

/// Says whether the user may sync. Examples are a shop's receipt, a licence server and an administrator's file.
///
///     struct Shop: EntitlementProvider {
///         func entitlement() async throws -> Entitlement {
///             guard let receipt = try await receipts.current() else { return Entitlement(isEntitled: false) }
///             return Entitlement(isEntitled: true, validUntil: receipt.expires)
///         }
///     }
///
/// The database stores the answer. If the provider cannot answer, the stored answer counts until its `validUntil`. So a shop that is out of reach
/// stops no paying user, and the end of a subscription takes effect without a network.
public protocol EntitlementProvider: Sendable {
    /// Returns the answer. Throws if there is no answer at the moment, which differs from "no".
    func entitlement() async throws -> Entitlement
    /// How long an answer is used before the gate asks again. By default each run asks.
    var asksAgainAfter: Duration { get }
    /// Yields when the answer may have changed; the gate then asks at once (``SyncGate/decisions()``, a watch). Each call returns a new stream.
    /// Nil, the default, for a provider that cannot tell.
    var changes: AsyncStream<Void>? { get }
}

extension EntitlementProvider {
    public var asksAgainAfter: Duration { .zero }
    public var changes: AsyncStream<Void>? { nil }
}

/// Whether the user may sync, and how long the answer counts.
public struct Entitlement: Hashable, Sendable {
    public let isEntitled: Bool
    /// When the answer ends: the purchase ends then, and the stored answer no longer counts. Nil: it does not end.
    public let validUntil: Instant?
    /// Why the user may not sync, for display; nil if there is nothing to add.
    public let reason: String?

    public init(isEntitled: Bool, validUntil: Instant? = nil, reason: String? = nil) {
        self.isEntitled = isEntitled
        self.validUntil = validUntil
        self.reason = reason
    }
}
