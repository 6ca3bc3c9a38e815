/// What happened in histories, told from their traces: a trouble that never comes true proves nothing.
struct SimulationTally: CustomStringConvertible {
    private var counts: [(what: String, lines: Int)] = Self.kinds.map { ($0.what, 0) }

    /// Each with what a line of a trace has of it.
    private static let kinds: [(what: String, line: @Sendable (String) -> Bool)] = [
        ("changes of rows", { $0.contains(" -> ") }),
        ("syncs", { $0.contains(": sync") }),
        ("syncs killed", { $0.hasSuffix("was killed") }),
        ("syncs with a failed call", { $0.hasSuffix("met a failed call") }),
        ("syncs that another device overtook", { $0.hasSuffix(": is overtaken") }),
        ("syncs with edits meanwhile", { $0.hasSuffix(": is edited while it publishes") }),
        ("versions", { $0.hasPrefix("version ") }),
        ("messages sent", { $0.contains(": tells ") }),
        ("edits of readers applied", { $0.hasPrefix("writer: applied ") }),
        ("edits of readers refused", { $0.hasPrefix("writer: refused ") }),
        ("prunes that removed files", { $0.contains(": prune, ") && $0.hasSuffix(" files") && !$0.hasSuffix(" 0 files") }),
        ("clocks that jumped", { $0.contains(": clock off by ") }),
        ("times that files were carried", { $0.hasPrefix("tool: carries ") && !$0.hasSuffix(" 0") }),
        ("files gone for a while", { $0.hasSuffix(" is gone for a while") }),
        ("files brought again", { $0.hasSuffix(" is brought again") }),
        ("conflict copies", { $0.contains("conflict copy of ") }),
        ("half files", { $0.contains("half of ") }),
    ]

    mutating func add(_ trace: [String]) {
        for (number, kind) in Self.kinds.enumerated() { counts[number].lines += trace.count(where: kind.line) }
    }

    /// What never happened.
    var missing: [String] { counts.filter { $0.lines == 0 }.map(\.what) }

    var description: String { counts.map { "\($0.lines) \($0.what)" }.joined(separator: ", ") }
}
