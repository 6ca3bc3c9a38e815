import CloudStore
import Foundation
import SnapshotVersions
public import StrictText
import Synchronization

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
        (self.isEntitled, self.validUntil, self.reason) = (isEntitled, validUntil, reason)
    }
}

/// An entitlement that the application sets whenever its shop reports a change. The gate reacts at once.
///
///     let shop = PushedEntitlement()
///     let engine = try SyncEngine(database: path, options: EngineOptions(gate: GateOptions(entitlement: shop)))
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

/// An entitlement that is stated in a JSON file: `{"validUntil":"2027-01-01T00:00:00Z"}`.
///
/// The file may also have `isEntitled` (default: true) and keys of other programs. The vendor or administrator writes the file. A file that is
/// missing or cannot be read is no answer: the last answer then counts until its end.
public struct FileEntitlement: EntitlementProvider {
    /// The file's path.
    public let path: String

    public init(path: String) { self.path = path }

    /// Reads the file.
    ///
    /// - Throws: ``SyncError`` with `.nothingThere` or `.dataRefused`.
    public func entitlement() async throws -> Entitlement { try read() }

    func read() throws -> Entitlement {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw SyncError(.nothingThere, step: .open, at: path, "the entitlement file cannot be read", hint: "put it there, or check its path and mode")
        }
        do {
            let document = try StrictJSON.decode(Document.self, from: data)
            return Entitlement(isEntitled: document.isEntitled ?? true, validUntil: try document.validUntil.map { try Instant(parsing: $0) })
        } catch {
            throw SyncError(
                .dataRefused, step: .open, at: path, "the entitlement file is not understood",
                hint: "write a JSON object with \"validUntil\", an RFC 3339 time, or \"isEntitled\"")
        }
    }

    private struct Document: Decodable {
        let isEntitled: Bool?
        let validUntil: String?

        private enum CodingKeys: String, CodingKey { case isEntitled, validUntil }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            isEntitled = try container.decodeIfPresent(Bool.self, forKey: .isEntitled)
            validUntil = try container.decodeIfPresent(String.self, forKey: .validUntil)
            guard isEntitled != nil || validUntil != nil else {
                throw DecodingError.dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: "neither key is there"))
            }
        }
    }
}
