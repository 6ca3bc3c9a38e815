import StrictText

/// Up to which number each device's edits are decided, as a commit and a checkpoint state it.
enum AnsweredEdits {
    /// Whether a document can state these numbers: it leaves the field out if there are none.
    static func isPossible(_ answered: [ExactText: Int64]?) -> Bool {
        answered.map { !$0.isEmpty && $0.allSatisfy { CloudNames.isName($0.key.description) && $0.value > 0 } } ?? true
    }

    /// A device whose number would go backwards, or would vanish; nil if all follow.
    static func firstFallen(from earlier: [ExactText: Int64], to later: [ExactText: Int64]) -> ExactText? {
        earlier.filter { $0.value > later[$0.key] ?? 0 }.keys.min()
    }
}
