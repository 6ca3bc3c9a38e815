import LocalStore

/// The number of edits that were written to the conflict journal, and how many of them a publisher refused in a message.
struct LostEdits: Hashable, Sendable {
    /// All lost edits.
    var count = 0
    /// The edits that lost to no other edit: the publisher refused them.
    var refused = 0

    init() {}

    /// One edit that was written to the journal.
    init(_ conflict: Conflict) { (count, refused) = (1, conflict.reason == .refused ? 1 : 0) }

    static func += (left: inout LostEdits, right: LostEdits) {
        left.count += right.count
        left.refused += right.refused
    }
}
