import GRDB
package import StrictText

/// How a database came to its zone: what `init` recorded, in the transaction that wrote the settings.
package struct BootstrapNote: Hashable, Sendable, Codable {
    /// Whether the zone was not there before this database made it: then its first version may be this database's.
    package let madeZone: Bool

    package init(madeZone: Bool) { self.madeZone = madeZone }
}

/// The nonces under which a database may have reported: the one that was last seen in the cloud, and the one that comes next.
package struct ReportNonces: Hashable, Sendable, Codable {
    package let seen: String?
    package let next: String
    /// When the next one was made, after all reports with earlier ones; nil where that is not known.
    package let since: Instant?

    package init(seen: String?, next: String, since: Instant? = nil) {
        self.seen = seen
        self.next = next
        self.since = since
    }

    /// Whether a report with that nonce is this database's.
    package func include(_ nonce: String) -> Bool { nonce == seen || nonce == next }
}

extension BootstrapNote: JSONNodeDecodable {
    package init(_ node: JSONNode) throws(JSONNode.Misfit) { self.init(madeZone: try node.object().member("madeZone").boolean()) }
}

extension ReportNonces: JSONNodeDecodable, JSONNodeEncodable {
    package var node: JSONNode { .members(["seen": seen.map { .text($0) }, "next": .text(next), "since": since.map { .instant($0) }]) }

    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        self.init(
            seen: try members.optional("seen")?.text(), next: try members.member("next").text(),
            since: try members.optional("since")?.instant())
    }
}
