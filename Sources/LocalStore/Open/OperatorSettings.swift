import GRDB
package import StrictText

/// What an operator has decided about a database, beside what `init` needs to know.
package struct OperatorSettings: Hashable, Sendable {
    /// How large an asset may be, in bytes, unless somebody has said otherwise: CloudKit's limit.
    package static let standardAssetLimit = 250_000_000

    /// How large an asset may be, in bytes.
    package let assetLimit: Int
    /// How often a scheduler runs a sync, in seconds; nil if none was set up.
    package let interval: Int?
    /// Whether `init` was told that a tool replicates the cloud's folder.
    package let isReplicated: Bool
    /// Which versions a publisher keeps by itself; nil if it removes none unasked.
    package let retention: RetentionSetting?
}

/// Which versions a publisher keeps by itself, besides the newest and the pinned ones.
package struct RetentionSetting: Hashable, Sendable {
    /// How many states of the data; nil asks for no number.
    package let keepLast: Int?
    /// How old a version may be, in seconds; nil asks for no age.
    package let keepWithin: Int?

    package init(keepLast: Int?, keepWithin: Int?) {
        self.keepLast = keepLast
        self.keepWithin = keepWithin
    }
}

extension LocalTransaction {
    /// Reads what an operator has decided; what nobody has is as it always was.
    package func operatorSettings() throws -> OperatorSettings {
        func number(_ key: String) throws -> Int? {
            guard let text = try value(of: key, in: .settings) else { return nil }
            guard let value = Int(text), value > 0 else { throw damaged("snapsync_settings", "the setting '\(key)' is not a number") }
            return value
        }
        let last = try number("keepLast"), within = try number("keepWithin")
        return OperatorSettings(
            assetLimit: try number("assetLimit") ?? OperatorSettings.standardAssetLimit, interval: try number("interval"), isReplicated: try number("replicated") != nil,
            retention: last == nil && within == nil ? nil : RetentionSetting(keepLast: last, keepWithin: within))
    }

    /// Sets how large an asset may be, in bytes.
    package func setAssetLimit(_ byteCount: Int) throws { try set("assetLimit", byteCount) }

    /// Sets how often a scheduler runs a sync, in seconds.
    package func setInterval(_ seconds: Int) throws { try set("interval", seconds) }

    /// Notes that a tool replicates the cloud's folder.
    package func setReplicated() throws { try set("replicated", 1) }
    /// Sets which versions are kept by itself; nil: none is removed unasked.
    package func setRetention(_ setting: RetentionSetting?) throws {
        for (key, value) in [("keepLast", setting?.keepLast), ("keepWithin", setting?.keepWithin)] {
            if let value { try set(key, value) } else { try db.execute(sql: "DELETE FROM snapsync_settings WHERE key = ?", arguments: [key]) }
        }
    }

    /// When versions were last removed by themselves, or that was tried; nil before the first time.
    package func lastRetention() throws -> Instant? { try plainState("lastRetention") }

    /// Records it.
    package func setLastRetention(_ instant: Instant) throws { try setPlainState("lastRetention", instant) }

    private func set(_ key: String, _ value: Int) throws {
        try db.execute(sql: "INSERT OR REPLACE INTO snapsync_settings VALUES(?, ?)", arguments: [key, "\(value)"])
    }
}
