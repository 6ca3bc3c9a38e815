package import StrictText

// Handles the statements of a fork: two commits of the same number both changed the list of members, and one of the two lost the number.
extension MemberList {
    /// Returns the statements of `other` after the common beginning of the two lists, oldest first.
    func statementsLost(of other: MemberList) -> [MemberStatement] {
        let common = zip(statements, other.statements).prefix { $0 == $1 }.count
        guard common > 0 else { return [] }
        return other.statements.dropFirst(common).compactMap { MemberStatement(verified: $0) }
    }

    /// Whether a restriction by this statement also holds in this list. A statement that grants something always passes: a member can grant
    /// it again.
    func keeps(_ statement: MemberStatement) -> Bool {
        guard statement.restricts, let member = member(statement.device) else { return true }
        guard let role = statement.role.flatMap(MemberRole.init) else { return false }
        return member.role.rank <= role.rank
    }
}

extension MemberStatement {
    /// Whether the statement may take something away from a member: the membership, or what the previous role allowed.
    var restricts: Bool { action == .remove || action == .role }

    /// Reads a statement of a list that is already verified.
    init?(verified text: String) {
        let bytes = Array(text.utf8)
        guard let statement = try? ChecksummedDocument.decode(Self.self, named: Self.sealName, from: bytes, at: "", isSigned: true) else { return nil }
        self = statement
    }
}

extension MemberRole {
    /// Higher for a role that may do more.
    fileprivate var rank: Int { mayPublish ? 2 : maySend ? 1 : 0 }
}

extension ZoneAuthority {
    /// Decides whether to trust a list that lacks statements which this device has seen, in a history that continues from a version that
    /// both have.
    ///
    /// No device may regain what was taken away. Each restriction among the lost statements must also hold in the list, or be this device's
    /// own statement, which it then issues again (``ZoneKnowledge/lost``). And no commit since may come from a member that a lost statement
    /// restricted.
    ///
    /// If a person has decided (``settleForks()``), the list counts in any case, and this device issues all lost restrictions again, whoever
    /// made them.
    ///
    /// - Parameter commits: the commits since that version.
    /// - Returns: the statements that this device must issue again, if it publishes; nil if the list is not to be trusted.
    func ownStatementsLost(_ list: MemberList, instead trusted: MemberList, _ commits: [Commit]) -> [String]? {
        let lost = list.statementsLost(of: trusted), known = knowledge
        guard !lost.isEmpty, !commits.isEmpty, list.creator == trusted.creator else { return nil }
        let own = known.own.flatMap { own in list.members.first { $0.keys == own && $0.role.mayPublish }?.device }
        let texts = zip(trusted.statements.suffix(lost.count), lost)
        if settlesForks { return own == nil ? [] : texts.filter { $1.restricts && $1.device != own }.map(\.0) }
        let restricted = Set(lost.filter(\.restricts).map(\.device))
        guard !commits.contains(where: { restricted.contains($0.device) }) else { return nil }
        guard lost.allSatisfy({ list.keeps($0) || $0.by == own }) else { return nil }
        return texts.filter { $1.by == own }.map(\.0)
    }
}

extension MemberList {
    /// Issues lost statements of a fork again, in the name of `name`, unless they already hold: the same devices are removed and admitted.
    ///
    /// - Throws: as ``add(_:_:_:floor:by:_:at:of:)``.
    package mutating func repeatStatements(
        _ lost: [String], floor: ChangeToken, by name: String, _ keys: DeviceKeys, at clock: Instant, of history: HistoryID
    ) throws {
        for statement in lost.compactMap({ MemberStatement(verified: $0) }) {
            let role = statement.role.flatMap(MemberRole.init)
            switch statement.action {
            case .create: continue
            case .add:
                guard member(statement.device) == nil, let role, let theirs = statement.keys else { continue }
                try add(statement.device, role, theirs, floor: floor, by: name, keys, at: clock, of: history)
            case .remove, .role:
                guard !keeps(statement) else { continue }
                try change(statement.device, to: role, by: name, keys, at: clock, of: history)
            }
        }
    }
}
