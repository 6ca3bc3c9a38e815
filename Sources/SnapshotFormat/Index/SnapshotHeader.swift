package import StrictText

/// The head of a snapshot asset, `{"syncTimestamp":"…","notifications":[`, or of a change asset, `{"syncTimestamp":"…","after":"…","notifications":[`.
package struct SnapshotHeader: Hashable, Sendable {
    /// When the version was made, by the writer's clock; for people.
    package let syncTimestamp: Instant
    /// The dataset's name.
    package let dataset: String
    /// Of a change asset, the name of the asset that the version before ends with; nil of a snapshot asset.
    package let after: String?

    /// Describes a head.
    package init(syncTimestamp: Instant, dataset: String, after: String? = nil) {
        (self.syncTimestamp, self.dataset, self.after) = (syncTimestamp, dataset, after)
    }

    /// The head's text.
    package var text: String {
        "{\"syncTimestamp\":\"\(syncTimestamp)\",\(after.map { "\"after\":\"\($0)\"," } ?? "")\"\(dataset)\":["
    }

    /// Parses the head's text, which must be canonical to the byte.
    ///
    /// - Throws: ``SyncError`` with `.truncated` or `.damaged`.
    package static func parse(_ bytes: UnsafeRawBufferPointer) throws -> SnapshotHeader {
        var reader = LiteralReader(bytes, place: "header")
        let header = try read(&reader)
        try reader.expectEnd()
        guard header.text.utf8.elementsEqual(bytes) else { throw reader.damage("it is not in canonical form") }
        return header
    }

    /// Reads a head at the beginning of a longer text.
    static func read(_ reader: inout LiteralReader, ofChanges: Bool = false) throws -> SnapshotHeader {
        try reader.expect("{\"syncTimestamp\":")
        let instant = try reader.instant()
        try reader.expect(",")
        var after: String?
        if ofChanges {
            try reader.expect("\"after\":")
            after = try reader.string()
            try reader.expect(",")
        }
        let header = SnapshotHeader(syncTimestamp: instant, dataset: try reader.string(), after: after)
        try reader.expect(":[")
        return header
    }
}
