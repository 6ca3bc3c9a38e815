public import StrictText

/// Says whether the user may sync: a shop's receipt, a licence server, an administrator's file.
///
///     struct Shop: EntitlementProvider {
///         func entitlement() async throws -> Entitlement {
///             guard let receipt = try await receipts.current() else { return Entitlement(isEntitled: false) }
///             return Entitlement(isEntitled: true, validUntil: receipt.expires)
///         }
///     }
///
/// The answer is kept in the database. One that cannot be had anew holds until its `validUntil`, so that a shop that is out of
/// reach stops nobody who has paid, and the end of a subscription is seen without a network.
public protocol EntitlementProvider: Sendable {
    /// Asks. Throws where there is no answer just now, which is another thing than "no".
    func entitlement() async throws -> Entitlement
    /// How long an answer is used before it is asked for again. By default each run asks.
    var asksAgainAfter: Duration { get }
    /// Yields when the answer may have become another one: the gate then asks at once (``SyncGate/decisions()``, a watch). Each call makes a stream
    /// of its own. Nil, the default, for a provider that cannot tell.
    var changes: AsyncStream<Void>? { get }
}

extension EntitlementProvider {
    public var asksAgainAfter: Duration { .zero }
    public var changes: AsyncStream<Void>? { nil }
}

/// Whether the user may sync, and until when that is known.
public struct Entitlement: Hashable, Sendable {
    public let isEntitled: Bool
    /// When the answer ends: what was bought ends then, and a kept answer is of no use any more. Nil: it does not end.
    public let validUntil: Instant?
    /// Why not, in words, for those who ask; nil where "no" says all.
    public let reason: String?

    public init(isEntitled: Bool, validUntil: Instant? = nil, reason: String? = nil) {
        self.isEntitled = isEntitled
        self.validUntil = validUntil
        self.reason = reason
    }
}
