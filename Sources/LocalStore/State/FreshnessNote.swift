package import StrictText

/// What a database knows of the promise that its zone has a new version at least so often.
package struct FreshnessNote: Hashable, Sendable {
    /// At least how often the publishers make a version, in seconds.
    package let interval: Int
    /// The publisher's clock in the newest commit that was read or made here; nil before the first.
    package let newest: Instant?

    package init(interval: Int, newest: Instant?) {
        self.interval = interval
        self.newest = newest
    }

    /// Whether a publisher is to make a version although it has nothing new. Where no commit is known yet, the publisher has to look at its newest.
    package func isDue(at now: Instant) -> Bool { newest.map { now.microseconds - $0.microseconds >= Int64(interval) * 1_000_000 } ?? true }

    /// For how long nothing new has come, in seconds, if that is more than three intervals; else nil.
    package func silence(at now: Instant) -> Int? {
        guard let newest else { return nil }
        let age = Int((now.microseconds - newest.microseconds) / 1_000_000)
        return age > 3 * interval ? age : nil
    }
}

extension FreshnessNote: JSONNodeDecodable, JSONNodeEncodable {
    package var node: JSONNode { .members(["interval": .count(interval), "newest": newest.map { .instant($0) }]) }

    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        self.init(interval: try members.member("interval").count(), newest: try members.optional("newest")?.instant())
    }
}

extension StateTable {
    /// What is known of how often the zone has a new version; nil if nobody has promised anything.
    package func freshness() throws -> FreshnessNote? { try plainValue("freshness") }

    /// Records it, or that the promise was taken back.
    package func setFreshness(_ note: FreshnessNote?) throws { try setPlainValue("freshness", note) }
}
