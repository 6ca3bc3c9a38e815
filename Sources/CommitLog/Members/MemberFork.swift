package import CloudStore
package import StrictText

// What becomes of statements in a fork: two commits of one number both changed the list of members, and one of them lost its number.
extension MemberList {
    /// The statements of `other` that this list does not begin with, oldest first.
    func statementsLost(of other: MemberList) -> [MemberStatement] {
        let common = zip(statements, other.statements).prefix { $0 == $1 }.count
        guard common > 0 else { return [] }
        return other.statements.dropFirst(common).compactMap { MemberStatement(verified: $0) }
    }

    /// Whether what a statement took away is taken away here, too. What one gives is given anew by whoever wants to.
    func keeps(_ statement: MemberStatement) -> Bool {
        guard statement.restricts, let member = member(statement.device) else { return true }
        guard let role = statement.role.flatMap(MemberRole.init) else { return false }
        return member.role.rank <= role.rank
    }
}

extension MemberStatement {
    /// Whether it takes something away from a member: membership, or perhaps what another role may do.
    var restricts: Bool { action == .remove || action == .role }

    /// Reads a statement whose list was verified.
    init?(verified text: String) {
        let bytes = Array(text.utf8)
        guard let statement = try? ChecksummedDocument.decode(Self.self, named: Self.sealName, from: bytes, at: "", isSigned: true) else { return nil }
        self = statement
    }
}

extension MemberRole {
    /// The more a role may do, the higher.
    fileprivate var rank: Int { mayPublish ? 2 : maySend ? 1 : 0 }
}

extension ZoneAuthority {
    /// Decides about a list that lacks statements which this device has seen, in a history that goes on from a version that both have.
    ///
    /// Nobody gets back what was taken away: what the lost statements took away must be taken away in the list, too, or be this device's own word,
    /// which it then gives again (``ZoneKnowledge/lost``); and no commit since may be one of a member from whom they took it.
    ///
    /// - Parameter commits: the commits since that version.
    /// Where a person has decided (``settleForks()``), the list counts, and this device gives what was taken away again, whose word it was.
    ///
    /// - Returns: what this device is to give again, if it publishes; nil if the list is not to be trusted.
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
    /// Gives statements that were lost in a fork again, as `name`'s, as far as they are not kept: who was removed is removed, who was admitted is
    /// admitted.
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
