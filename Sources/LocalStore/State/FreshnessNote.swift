package import StrictText

/// The promise that the zone gets a new version at least every so often, and when the newest was made.
package struct FreshnessNote: Hashable, Sendable, Codable {
    /// The longest time between two versions, in seconds.
    package let interval: Int
    /// The publisher's clock in the newest commit that was read or made here; nil before the first.
    package let newest: Instant?

    package init(interval: Int, newest: Instant?) {
        self.interval = interval
        self.newest = newest
    }

    /// Whether a publisher must make a version although it has no changes. True if no commit is known yet: the publisher then looks at the newest
    /// commit.
    package func isDue(at now: Instant) -> Bool { newest.map { now.microseconds - $0.microseconds >= Int64(interval) * 1_000_000 } ?? true }

    /// The time since the newest commit in seconds, if it is more than three intervals; else nil.
    package func silence(at now: Instant) -> Int? {
        guard let newest else { return nil }
        let age = Int((now.microseconds - newest.microseconds) / 1_000_000)
        return age > 3 * interval ? age : nil
    }
}

extension StateTable {
    /// The promise about new versions; nil if no publisher has made one.
    package func freshness() throws -> FreshnessNote? { try value("freshness") }

    /// Records the promise, or nil after it was withdrawn.
    package func setFreshness(_ note: FreshnessNote?) throws { try setValue("freshness", note) }
}
