import GRDB
package import StrictText

/// How a database came to its zone: what `init` noted, in the transaction that wrote the settings.
package struct BootstrapNote: Hashable, Sendable, Codable {
    /// Whether the zone was not there before this database made it: then its first version may be this database's.
    package let madeZone: Bool

    package init(madeZone: Bool) { self.madeZone = madeZone }
}

/// The nonces under which a database may have reported: the one that was last seen in the cloud, and the one that comes next.
package struct ReportNonces: Hashable, Sendable, Codable {
    package let seen: String?
    package let next: String

    package init(seen: String?, next: String) {
        self.seen = seen
        self.next = next
    }

    /// Whether a report with that nonce is this database's.
    package func include(_ nonce: String) -> Bool { nonce == seen || nonce == next }
}

extension LocalTransaction {
    /// What `init` noted; nil in a database that an earlier snapsync has set up.
    package func bootstrapNote() throws -> BootstrapNote? { try plainState("bootstrap") }

    /// Notes how the database came to its zone.
    package func setBootstrapNote(_ note: BootstrapNote) throws { try setState("bootstrap", note) }

    /// The nonces of this database's reports; nil before the first.
    package func reportNonces() throws -> ReportNonces? { try plainState("reportNonces") }

    /// Notes the nonces, before a report with the next one is written.
    package func setReportNonces(_ nonces: ReportNonces?) throws { try setState("reportNonces", nonces) }

    /// Up to that number, commits in the device's name are known to be another database's; 0 if none are.
    package func ownCommitsKnown() throws -> Int { try plainState("ownCommitsKnown") ?? 0 }

    /// Notes that the commits in the device's name up to that number are another database's.
    package func setOwnCommitsKnown(_ number: Int) throws { try setState("ownCommitsKnown", number) }

    /// Gives the device another name.
    package func setDevice(_ name: String) throws {
        try db.execute(sql: "UPDATE snapsync_settings SET value = ? WHERE key = 'device'", arguments: [name])
    }
}

extension BootstrapNote: PlainReadable {
    package init(_ node: JSONNode) throws(JSONNode.Misfit) { self.init(madeZone: try node.object().member("madeZone").boolean()) }
}

extension ReportNonces: PlainReadable {
    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        self.init(seen: try members.optional("seen")?.text(), next: try members.member("next").text())
    }
}
