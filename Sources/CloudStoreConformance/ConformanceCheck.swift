/// The part of the contract that a check belongs to.
public enum ConformancePart: String, Sendable, CaseIterable {
    /// ``RecordDatabase``.
    case records
    /// ``MailboxDatabase``.
    case mailbox
    /// ``RetentionDatabase``.
    case retention
    /// The documents that store a commit log: pruned, damaged, and foreign ones. Needs a ``DamageableCloud``.
    case files
}

/// One promise of the contract, and the code that checks it.
public struct ConformanceCheck: Sendable, CustomStringConvertible {
    /// The promise as a name: `aLostRaceIsTold`.
    public let name: String
    public let part: ConformancePart
    let body: @Sendable (ConformanceContext) async throws -> Void

    init(_ name: String, _ part: ConformancePart = .records, _ body: @escaping @Sendable (ConformanceContext) async throws -> Void) {
        self.name = name
        self.part = part
        self.body = body
    }

    public var description: String { name }
}
