package import CloudStore
import Foundation
package import LocalTables
package import SnapshotModel
package import StrictText

/// The fields of a dataset's record: the assets that make up its version.
///
/// The version is the snapshot asset with the change assets applied to it, oldest first.
package struct DatasetRecord: Sendable, Hashable, Codable {
    /// The newest snapshot asset.
    package let dataFile: CloudAsset
    /// The change assets that follow the snapshot asset, oldest first.
    package let changeFiles: [CloudAsset]
    /// What this version changed, if it has a new snapshot asset. A reader that has the previous version reads this file instead of the
    /// snapshot.
    package let changeFile: CloudAsset?
    package let syncTimestamp: Instant
    package let recordCount: Int

    /// The largest entity count that a record may state. Counts come from any device that can write and are added and doubled, so the limit
    /// prevents overflow.
    package static let countLimit = 1 << 48

    package init(dataFile: CloudAsset, changeFiles: [CloudAsset] = [], changeFile: CloudAsset? = nil, syncTimestamp: Instant, recordCount: Int) {
        self.dataFile = dataFile
        self.changeFiles = changeFiles
        self.changeFile = changeFile
        self.syncTimestamp = syncTimestamp
        self.recordCount = recordCount
    }

    /// Reads the fields; nil if one is missing or of another type, or if the numbers of the change assets do not ascend.
    package init?(_ record: CloudRecord) {
        guard case .asset(let dataFile) = record.fields["dataFile"], case .date(let syncTimestamp) = record.fields["syncTimestamp"],
            case .integer(let count) = record.fields["recordCount"], let recordCount = Int(exactly: count), (0...Self.countLimit).contains(recordCount)
        else { return nil }
        var changeFiles: [CloudAsset] = []
        if let field = record.fields["changeFiles"] {
            guard case .list(let values) = field else { return nil }
            for value in values {
                guard case .asset(let asset) = value else { return nil }
                changeFiles.append(asset)
            }
        }
        var changeFile: CloudAsset?
        if let field = record.fields["changeFile"] {
            guard case .asset(let asset) = field else { return nil }
            changeFile = asset
        }
        self.init(dataFile: dataFile, changeFiles: changeFiles, changeFile: changeFile, syncTimestamp: syncTimestamp, recordCount: recordCount)
        guard areInOrder else { return nil }
    }

    /// The change asset that leads from the previous version to this one; nil if only the snapshot asset does.
    package var step: CloudAsset? { changeFiles.last ?? changeFile }

    /// The asset that the version ends with, on which the next change asset stands.
    package var end: CloudAsset { changeFiles.last ?? dataFile }

    /// The change assets after the snapshot asset, each with the one that it stands on.
    package var chain: [(file: CloudAsset, after: CloudAsset?)] { Array(zip(changeFiles, [dataFile] + changeFiles)) }

    /// The size of all change assets since the snapshot asset, in bytes.
    package var changeByteCount: Int { changeFiles.reduce(0) { $0 + $1.byteCount } }

    /// The total length of their JSON, in bytes.
    package var changeRawByteCount: Int { changeFiles.reduce(0) { $0 + $1.rawByteCount } }

    // The name of each change asset contains its commit's number. Two assets of one number would both claim the same parent, so the numbers must
    // ascend strictly.
    private var areInOrder: Bool {
        let numbers = ([dataFile] + changeFiles).map { AssetPath($0.path)?.number }
        guard !numbers.contains(nil), changeFiles.allSatisfy({ AssetPath($0.path)?.kind == .changes }) else { return false }
        let known = numbers.compactMap { $0 }
        return zip(known, known.dropFirst()).allSatisfy { $0 < $1 }
    }

    /// The record of a dataset with these fields.
    package func record(of schema: DatasetSchema) -> CloudRecord {
        CloudRecord(type: schema.recordType, name: schema.recordName, fields: cloudFields)
    }

    /// The fields in the form of a cloud record.
    package var cloudFields: [String: CloudValue] {
        var fields: [String: CloudValue] = [
            "dataFile": .asset(dataFile), "syncTimestamp": .date(syncTimestamp), "recordCount": .integer(Int64(recordCount)),
        ]
        if !changeFiles.isEmpty { fields["changeFiles"] = .list(changeFiles.map { .asset($0) }) }
        if let changeFile { fields["changeFile"] = .asset(changeFile) }
        return fields
    }
}

extension LocalTransaction {
    /// The stored fields of a dataset's record, if they belong to the applied version.
    package func knownFields(of schema: DatasetSchema) throws -> DatasetRecord? {
        guard let known = try state.knownRecord(of: schema), try known.version == state.applied() else { return nil }
        return try? StrictJSON.decode(DatasetRecord.self, from: known.document)
    }

    /// Stores the record fields of the datasets for the version that was just applied or published, and removes outdated ones.
    ///
    /// A dataset that this version did not change keeps its stored fields if they belong to the version `before`.
    package func keepFields(_ fields: [String: DatasetRecord], of schemas: [DatasetSchema], before: AppliedVersion?, now version: AppliedVersion) throws {
        for schema in schemas {
            let known = try state.knownRecord(of: schema)
            let document: String? =
                if let fields = fields[schema.name] { try StrictJSON.text(fields) } else if let known, known.version == before { known.document } else { nil }
            try state.knownRecord.set(document.map { KnownRecord(version: version, document: $0) }, of: schema)
        }
    }
}

extension AppliedVersion {
    package init(_ token: ChangeToken) { self.init(number: token.number, hash: token.hash) }

    /// The change token of this version: its number and hash.
    package var token: ChangeToken { ChangeToken(number: number, hash: hash) }
}
