import GRDB
package import SnapshotModel

extension SettingsTable {
    /// Reads the operator's settings, with defaults for those that are not set.
    package func operatorSettings() throws -> OperatorSettings {
        func number(_ key: String) throws -> Int? {
            guard let text = try table.text(of: key) else { return nil }
            guard let value = Int(text), value > 0 else { throw damaged("snapsync_settings", "the setting '\(key)' is not a number") }
            return value
        }
        let last = try number("keepLast"), within = try number("keepWithin")
        return OperatorSettings(
            assetLimit: try number("assetLimit") ?? OperatorSettings.standardAssetLimit, interval: try number("interval"),
            isReplicated: try number("replicated") != nil,
            retention: last == nil && within == nil ? nil : RetentionSetting(keepLast: last, keepWithin: within))
    }

    /// Sets how large an asset may be, in bytes.
    package func setAssetLimit(_ byteCount: Int) throws { try set("assetLimit", byteCount) }

    /// Sets how often a scheduler runs a sync, in seconds.
    package func setInterval(_ seconds: Int) throws { try set("interval", seconds) }

    /// Records that a tool replicates the cloud's directory.
    package func setReplicated() throws { try set("replicated", 1) }

    /// Sets which versions a publisher keeps when it removes versions automatically; nil: it removes none.
    package func setRetention(_ setting: RetentionSetting?) throws {
        for (key, value) in [("keepLast", setting?.keepLast), ("keepWithin", setting?.keepWithin)] {
            try table.setText(value.map(String.init), of: key)
        }
    }

    private func set(_ key: String, _ value: Int) throws {
        try table.setText("\(value)", of: key)
    }

    /// What to do if the zone was deleted; `keep` if the settings do not say.
    package func zoneDeletionPolicy() throws -> ZoneDeletionPolicy {
        guard let text = try table.text(of: "zoneDeletion") else { return .keep }
        guard let policy = ZoneDeletionPolicy(rawValue: text) else { throw damaged("snapsync_settings", "the setting 'zoneDeletion' is not known") }
        return policy
    }

    /// Sets what to do if the zone was deleted.
    package func setZoneDeletionPolicy(_ policy: ZoneDeletionPolicy) throws {
        try table.setText(policy.rawValue, of: "zoneDeletion")
    }
}
