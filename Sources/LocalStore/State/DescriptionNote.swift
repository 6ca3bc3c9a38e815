package import StrictText

/// The state of a device's tables when it last compared their descriptions with the zone's.
package struct DescriptionNote: Sendable, Hashable {
    /// The database's `schema_version`: while it is unchanged, the tables are unchanged.
    package let schemaVersion: Int64
    /// The SHA-256 of each dataset's description, by the dataset's name.
    package let hashes: [String: String]

    package init(schemaVersion: Int64, hashes: [String: String]) {
        self.schemaVersion = schemaVersion
        self.hashes = hashes
    }
}

extension DescriptionNote: JSONNodeDecodable, JSONNodeEncodable {
    package var node: JSONNode { .object(["schemaVersion": .integer(schemaVersion), "hashes": .object(JSONObject(hashes) { .text($0) })]) }

    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        var hashes: [String: String] = [:]
        for member in try members.member("hashes").object() { hashes[member.name] = try member.node.text() }
        self.init(schemaVersion: try members.member("schemaVersion").integer(), hashes: hashes)
    }
}
