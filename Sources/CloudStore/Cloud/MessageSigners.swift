/// The devices that may send messages in a signed zone, as of the newest commit that the reader has verified.
package struct MessageSigners {
    private let members: MemberList
    /// The keys of a device that reads its own messages. It accepts them whether or not it is a member.
    private let own: DevicePublicKeys?

    /// Loads the members for one read of a zone's mailbox; nil in an unsigned zone.
    ///
    /// - Parameter sender: the only device whose messages are read; nil for all.
    /// - Throws: ``CloudError`` if the list of members cannot be read.
    package init?(_ zone: Zone, of sender: String?) throws {
        guard let members = try HistoryReader(zone).members() else { return nil }
        self.members = members
        own = sender == nil ? nil : zone.authority.knowledge.own
    }

    /// Returns why a message does not count; nil if it does.
    func refusal(of sender: String, key: String?) -> String? {
        if let own, own.signing == key { return nil }
        guard let member = members.member(sender, key: key) else {
            return members.member(sender) == nil ? "\(sender) is no member of the signed zone" : "it is signed by another key than \(sender)'s"
        }
        return member.role.maySend ? nil : "\(sender) is an \(member.role.rawValue), which sends nothing"
    }
}
