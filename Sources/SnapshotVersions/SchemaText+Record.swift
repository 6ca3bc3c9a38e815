package import CloudStore
package import SnapshotModel

// The SQL text of a zone is a record of its own, as each dataset's description is.
extension SchemaText {
    /// The name of the record. The dot keeps it apart from the names of datasets' records and pins.
    package static let recordName = "schema.sql"

    /// The text as a record; nil if it is too large for one.
    package func record() throws -> CloudRecord? {
        try text().map { CloudRecord(type: DatasetDescription.recordType, name: Self.recordName, fields: ["text": .string($0)]) }
    }

    /// Reads the text of a zone; nil if the zone keeps none.
    ///
    /// - Throws: ``SyncError`` with `.dataRefused`, or `.refused` if a newer program wrote it.
    package init?(_ state: ZoneState, in zone: ZoneID) throws {
        guard let record = state.record(Self.recordName), record.type == DatasetDescription.recordType else { return nil }
        do {
            guard case .string(let text) = record.fields["text"] else { throw DescriptionError("the field text is missing") }
            try self.init(text)
        } catch let error as DescriptionError {
            throw Self.refusal(error.reason, in: zone, needsUpdate: error.needsUpdate)
        }
    }

    /// The error for a text that cannot be used.
    package static func refusal(_ reason: String, in zone: ZoneID, needsUpdate: Bool = false) -> SyncError {
        SyncError(
            needsUpdate ? .refused : .dataRefused, step: .verify, at: "zone \(zone), record \(recordName)",
            "the SQL text cannot be used: \(reason)", hint: needsUpdate ? "update snapsync on this device" : "init --create alone makes the tables without it")
    }
}
