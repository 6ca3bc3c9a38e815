package import CloudStore

/// Who may send messages in a signed zone, as of what its reader has verified.
package struct MessageSigners {
    private let members: MemberList
    /// The keys of the device that looks at its own messages: it knows itself, a member or not.
    private let own: DevicePublicKeys?

    /// Prepares for one look at a zone's mailbox; nil in a zone that is not signed.
    ///
    /// - Throws: ``CloudError`` where the list of members cannot be read.
    package init?(_ source: some HistorySource, _ request: MailboxRequest) throws {
        guard let members = try HistoryReader(source: source).members() else { return nil }
        self.members = members
        own = request.sender == nil ? nil : source.authority.knowledge.own
    }

    /// Why a message does not count; nil if it does.
    func refusal(of sender: String, key: String?) -> String? {
        if let own, own.signing == key { return nil }
        guard let member = members.member(sender, key: key) else {
            return members.member(sender) == nil ? "\(sender) is no member of the signed zone" : "it is signed by another key than \(sender)'s"
        }
        return member.role.maySend ? nil : "\(sender) is an \(member.role.rawValue), which sends nothing"
    }
}
