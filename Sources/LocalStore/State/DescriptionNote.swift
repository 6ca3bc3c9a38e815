/// The state of a device's tables when it last compared their descriptions with the zone's.
package struct DescriptionNote: Codable, Sendable, Hashable {
    /// The database's `schema_version`: while it is unchanged, the tables are unchanged.
    package let schemaVersion: Int64
    /// The SHA-256 of each dataset's description, by the dataset's name.
    package let hashes: [String: String]

    package init(schemaVersion: Int64, hashes: [String: String]) {
        self.schemaVersion = schemaVersion
        self.hashes = hashes
    }
}
