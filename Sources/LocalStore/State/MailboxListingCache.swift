package import StrictText

/// What a publisher's last listing of the mailbox found. While the mailbox's mark is unchanged, the publisher need not list again.
package struct MailboxListingCache: Hashable, Sendable, Codable {
    /// The mailbox's mark, as a document in a format that the caller defines.
    package let mark: String
    /// When this device first saw that mark, by its own clock.
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
