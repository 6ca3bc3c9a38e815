import LocalStore

/// The number of edits that were written to the conflict journal, by their reasons (``ConflictReason/name``).
struct LostEdits: Hashable, Sendable {
    private(set) var reasons: [String: Int] = [:]

    /// All lost edits.
    var count: Int { reasons.values.reduce(0, +) }

    init() {}

    /// One edit that was written to the journal.
    init(_ conflict: Conflict) { reasons = [conflict.reason.name: 1] }

    static func += (left: inout LostEdits, right: LostEdits) { left.reasons.merge(right.reasons, uniquingKeysWith: +) }
}
