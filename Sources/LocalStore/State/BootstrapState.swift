import GRDB
package import StrictText

/// How a database joined its zone. `init` records it in the transaction that writes the settings.
package struct BootstrapNote: Hashable, Sendable, Codable {
    /// Whether this database created the zone. If so, the zone's first version may be this database's.
    package let madeZone: Bool

    package init(madeZone: Bool) { self.madeZone = madeZone }
}

/// The nonces that this database's reports may carry: the last one seen in the cloud, and the next one.
package struct ReportNonces: Hashable, Sendable, Codable {
    package let seen: String?
    package let next: String
    /// When the next nonce was made, which is after all reports with earlier ones; nil if unknown.
    package let since: Instant?

    package init(seen: String?, next: String, since: Instant? = nil) {
        self.seen = seen
        self.next = next
        self.since = since
    }

    /// Whether a report with that nonce is from this database.
    package func include(_ nonce: String) -> Bool { nonce == seen || nonce == next }
}
