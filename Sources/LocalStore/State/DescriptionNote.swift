/// What a device knew of its tables when it last compared their descriptions with the zone's.
package struct DescriptionNote: Codable, Sendable, Hashable {
    /// The database's `schema_version`: as long as it stays, the tables are as they were.
    package let schemaVersion: Int64
    /// The SHA-256 of each dataset's description, by the dataset's name.
    package let hashes: [String: String]

    package init(schemaVersion: Int64, hashes: [String: String]) {
        self.schemaVersion = schemaVersion
        self.hashes = hashes
    }
}
