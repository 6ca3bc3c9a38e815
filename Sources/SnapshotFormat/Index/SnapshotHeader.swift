package import StrictText

/// The head of a snapshot asset: `{"syncTimestamp":"…","notifications":[`.
package struct SnapshotHeader: Hashable, Sendable {
    /// When the version was made, by the writer's clock; for people.
    package let syncTimestamp: Instant
    /// The dataset's name.
    package let dataset: String

    /// Describes a head.
    package init(syncTimestamp: Instant, dataset: String) {
        self.syncTimestamp = syncTimestamp
        self.dataset = dataset
    }

    /// The head's text.
    package var text: String { "{\"syncTimestamp\":\"\(syncTimestamp)\",\"\(dataset)\":[" }

    /// Parses the head's text, which must be canonical to the byte.
    ///
    /// - Throws: ``FormatError`` with `.truncated` or `.damaged`.
    package static func parse(_ bytes: UnsafeRawBufferPointer) throws -> SnapshotHeader {
        var reader = LiteralReader(bytes, place: "header")
        let header = try read(&reader)
        try reader.expectEnd()
        guard header.text.utf8.elementsEqual(bytes) else { throw reader.damage("it is not in canonical form") }
        return header
    }

    /// Reads a head at the beginning of a longer text.
    static func read(_ reader: inout LiteralReader) throws -> SnapshotHeader {
        try reader.expect("{\"syncTimestamp\":")
        let instant = try reader.instant()
        try reader.expect(",")
        let header = SnapshotHeader(syncTimestamp: instant, dataset: try reader.string())
        try reader.expect(":[")
        return header
    }
}
