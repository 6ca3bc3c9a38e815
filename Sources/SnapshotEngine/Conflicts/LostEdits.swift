/// How many edits were written to the conflict journal, and how many of them because a publisher refused the message that carried them.
struct LostEdits: Hashable, Sendable {
    /// All of them.
    var count = 0
    /// Those that lost to no other edit: the publisher refused them.
    var refused = 0

    static func += (left: inout LostEdits, right: LostEdits) {
        left.count += right.count
        left.refused += right.refused
    }
}
