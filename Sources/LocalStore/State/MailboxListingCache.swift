package import StrictText

/// What a publisher's last listing of the mailbox saw, so that it need not be listed again as long as it is the same.
package struct MailboxListingCache: Hashable, Sendable, Codable {
    /// The mailbox's mark, as a document whose form is its owner's.
    package let mark: String
    /// When that mark was seen first, by this device's clock.
    package let since: Instant

    package init(mark: String, since: Instant) {
        self.mark = mark
        self.since = since
    }
}

extension MailboxListingCache: JSONNodeDecodable, JSONNodeEncodable {
    package var node: JSONNode { .object(["mark": .text(mark), "since": .instant(since)]) }

    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        self.init(mark: try members.member("mark").text(), since: try members.member("since").instant())
    }
}
