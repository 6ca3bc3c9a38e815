import GRDB
import SnapshotModel
import StrictText

extension SettingsTable {
    /// Whether the user wants this database to be synced. A database that an earlier version set up counts as on, because its user ran `init`.
    package func preference() throws -> SyncPreference {
        guard let choice = try SyncChoice(rawValue: table.text(of: "preference") ?? SyncChoice.on.rawValue) else {
            throw damaged("snapsync_settings", "the setting 'preference' is none of on, off and undecided")
        }
        return SyncPreference(choice, changedAt: try table.text(of: "preferenceChangedAt").flatMap { try? Instant(parsing: $0) })
    }

    /// Stores the preference. It is stored nowhere else.
    package func setPreference(_ preference: SyncPreference) throws {
        try table.setText(preference.choice.rawValue, of: "preference")
        try table.setText(preference.changedAt?.description, of: "preferenceChangedAt")
    }

    /// The file that the preference is bound to; nil if it is not bound.
    package func preferenceFile() throws -> PreferenceFileSetting? {
        guard let path = try table.text(of: "preferenceFile"), let key = try table.text(of: "preferenceKey") else { return nil }
        return PreferenceFileSetting(path: path, key: key)
    }

    /// Binds the preference to a file, or unbinds it with nil. An agreement with another file is deleted.
    package func setPreferenceFile(_ file: PreferenceFileSetting?) throws {
        if try file != preferenceFile() { try transaction.state.setPreferenceAgreement(nil) }
        try table.setText(file?.path, of: "preferenceFile")
        try table.setText(file?.key, of: "preferenceKey")
    }

    /// The file that says whether the user may sync; nil if nothing restricts that.
    package func entitlementFile() throws -> String? { try table.text(of: "entitlementFile") }

    /// The public key whose signature that file needs; nil if it needs none.
    package func entitlementKey() throws -> String? { try table.text(of: "entitlementKey") }

    /// Sets the file that says whether the user may sync, and the key whose signature it needs, or removes both. An answer from another file is
    /// deleted.
    package func setEntitlementFile(_ path: String?, key: String?) throws {
        if try path != entitlementFile() || key != entitlementKey() { try transaction.state.setEntitlementRecord(nil) }
        try table.setText(path, of: "entitlementFile")
        try table.setText(key, of: "entitlementKey")
    }

    /// Whether this database is in memory, in place of one that could not be opened.
    package func isInMemory() throws -> Bool {
        guard try exists() else { return false }
        return try table.text(of: "inMemory") != nil
    }

    /// Marks this database as one in memory, which can never be set up for syncing.
    package func markInMemory() throws {
        try LocalTable.settings.create(in: db)
        try table.setText("1", of: "inMemory")
    }
}
