import GRDB

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
}

extension LocalTransaction {
    /// Reads what an operator has decided; what nobody has is as it always was.
    package func operatorSettings() throws -> OperatorSettings {
        func number(_ key: String) throws -> Int? {
            guard let text = try value(of: key, in: .settings) else { return nil }
            guard let value = Int(text), value > 0 else { throw damaged("snapsync_settings", "the setting '\(key)' is not a number") }
            return value
        }
        return OperatorSettings(assetLimit: try number("assetLimit") ?? OperatorSettings.standardAssetLimit, interval: try number("interval"), isReplicated: try number("replicated") != nil)
    }

    /// Sets how large an asset may be, in bytes.
    package func setAssetLimit(_ byteCount: Int) throws { try set("assetLimit", byteCount) }

    /// Sets how often a scheduler runs a sync, in seconds.
    package func setInterval(_ seconds: Int) throws { try set("interval", seconds) }

    /// Notes that a tool replicates the cloud's folder.
    package func setReplicated() throws { try set("replicated", 1) }

    private func set(_ key: String, _ value: Int) throws {
        try db.execute(sql: "INSERT OR REPLACE INTO snapsync_settings VALUES(?, ?)", arguments: [key, "\(value)"])
    }
}
