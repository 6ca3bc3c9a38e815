package import CloudStore
package import SnapshotModel

// A dataset's description as the zone keeps it: a record of its own, so that it is part of commits and checkpoints.
extension DatasetDescription {
    /// The type of the record. Programs that know no descriptions skip records of this type that are no pins; a record of a type of its own they would
    /// take for a damaged dataset.
    package static let recordType = "SnapshotPin"

    /// The name of the record. No dataset's record has a dot in its name, and no pin's.
    package static func recordName(of dataset: String) -> String {
        dataset.utf8.count <= 58 ? "table." + dataset : "table.\(dataset.prefix(49)).\(ContentHash.of(dataset.utf8).prefix(8))"
    }

    /// Whether a record carries a description.
    package static func isRecord(_ record: CloudRecord) -> Bool { record.type == recordType && record.name.hasPrefix("table.") }

    /// The description as a record.
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
            throw error.refusal(at: "zone \(zone), record \(record.name)")
        }
    }
}

extension DescriptionError {
    /// The error as the engine throws it.
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
            throw error.refusal(at: "zone \(zone)")
        }
    }
}
