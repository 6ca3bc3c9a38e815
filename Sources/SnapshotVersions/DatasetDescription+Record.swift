package import CloudStore
package import SnapshotModel
package import StrictText

// Each dataset's description is a record of its own in the zone, so that commits and checkpoints contain it.
extension DatasetDescription {
    /// The type of the record. Descriptions share the type of pins: a program that predates descriptions skips such a record if it is no pin,
    /// but would report a record of an unknown type as a damaged dataset.
    package static let recordType = "SnapshotPin"

    /// The name of the record. The dot keeps it apart from the names of datasets' records and pins, which contain none.
    package static func recordName(of dataset: String) -> String {
        dataset.utf8.count <= 58 ? "table." + dataset : "table.\(dataset.prefix(49)).\(ContentHash.of(dataset.utf8).prefix(8))"
    }

    /// Whether a record carries a description.
    package static func isRecord(_ record: CloudRecord) -> Bool { record.type == recordType && record.name.exact.hasPrefix("table.") }

    package func record() throws -> CloudRecord {
        CloudRecord(type: Self.recordType, name: Self.recordName(of: schema.name), fields: ["description": .string(try text())])
    }

    /// Reads a record.
    ///
    /// - Throws: ``SyncError`` with `.dataRefused`, or `.refused` if a newer program wrote it.
    package init(_ record: CloudRecord, in zone: ZoneID) throws {
        do {
            guard case .string(let text) = record.fields["description"] else { throw DescriptionError("the field description is missing") }
            try self.init(text)
            guard Self.recordName(of: schema.name) == record.name else { throw DescriptionError("it describes another dataset than its record's name says") }
        } catch let error as DescriptionError {
            throw error.refusal(at: "\(zone.place), record \(record.name)")
        }
    }
}

extension DescriptionError {
    /// Converts the error to a ``SyncError``.
    package func refusal(at place: String) -> SyncError {
        needsUpdate
            ? SyncError(.refused, step: .verify, at: place, "the description of the table cannot be read: \(reason)", hint: "update snapsync on this device")
            : SyncError(
                .dataRefused, step: .verify, at: place, "the description of the table cannot be used: \(reason)",
                hint: "run snapsync sync on the device that publishes, or give this device a dataset file (--datasets)")
    }
}

extension ZoneState {
    /// The descriptions of the zone's datasets, parents before children.
    ///
    /// - Throws: ``SyncError`` if one of them cannot be used, or if they contradict one another.
    package func descriptions(in zone: ZoneID) throws -> [DatasetDescription] {
        let all = try records.filter(DatasetDescription.isRecord).sorted { $0.name < $1.name }.map { try DatasetDescription($0, in: zone) }
        do {
            return try DatasetDescription.sorted(all)
        } catch let error as DescriptionError {
            throw error.refusal(at: zone.place)
        }
    }
}

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
            needsUpdate ? .refused : .dataRefused, step: .verify, at: "\(zone.place), record \(recordName)",
            "the SQL text cannot be used: \(reason)",
            hint: needsUpdate ? "update snapsync on this device" : "join without --with-schema makes the tables without it")
    }
}
