import Foundation
package import SnapshotModel
import StrictText

/// What the runs record: the table `snapsync_state`, with one JSON value under each key.
package struct StateTable: TransactionPart {
    let transaction: LocalTransaction

    static let name = LocalTable.state.name
    var table: KeyValueTable { KeyValueTable(transaction: transaction, name: Self.name) }

    /// The version that was applied or published last; nil before the first.
    package func applied() throws -> AppliedVersion? { try plainValue("applied") }

    /// Records the version that the database now has. Call it in the transaction that applies it.
    package func setApplied(_ version: AppliedVersion) throws {
        try setPlainValue("applied", version)
        try transaction.lineage.record(version)
    }

    /// Deletes the applied version and leaves the rows, which will be the first version of another zone.
    func forgetApplied() throws { try setPlainValue("applied", nil as AppliedVersion?) }

    /// The commit that a publisher was about to publish; nil if there is none.
    package func intended() throws -> IntendedVersion? { try plainValue("intended") }

    /// Stores or deletes the commit that is about to be published. Earlier attempts for the same number are kept with it.
    package func setIntended(_ version: IntendedVersion?) throws { try setPlainValue("intended", version?.after(intended())) }

    /// What the database shows instead of the newest version, in words; nil if it follows the zone.
    package func view() throws -> String? { try plainValue("view") }

    /// Stores or ends a view.
    package func setView(_ view: String?) throws { try setPlainValue("view", view) }

    /// The cached record of a dataset in the cloud, from ``setKnownRecord(_:of:)``; nil if none is cached.
    package func knownRecord(of schema: DatasetSchema) throws -> KnownRecord? { try plainValue("record:\(schema.name)") }

    /// Caches or deletes the applied version's record of a dataset, so that the next export need not read it.
    package func setKnownRecord(_ record: KnownRecord?, of schema: DatasetSchema) throws { try setPlainValue("record:\(schema.name)", record) }

    /// The last comparison of the published descriptions with the tables; nil before the first.
    package func descriptionNote() throws -> DescriptionNote? { try plainValue("descriptions") }

    /// Stores the last comparison of the descriptions.
    package func setDescriptionNote(_ note: DescriptionNote?) throws { try setPlainValue("descriptions", note) }

    /// The database's schema version when its tables were last compared with the descriptions; nil before the first comparison.
    package func tablesSeen() throws -> Int64? { try table.text(of: "tablesSeen").flatMap { Int64($0) } }

    /// Records that the present tables were compared with the descriptions.
    package func setTablesSeen() throws { try table.setText(String(transaction.tables.schemaVersion()), of: "tablesSeen") }

    /// The columns of a dataset that the applied version has and the rows do not have yet. The next import fills them.
    package func unseenColumns(of schema: DatasetSchema) throws -> [String] { try value("unseenColumns:\(schema.name)") ?? [] }

    /// Stores which columns the next import must fill.
    package func setUnseenColumns(_ names: [String], of schema: DatasetSchema) throws {
        try setValue("unseenColumns:\(schema.name)", names.isEmpty ? nil : names.sorted())
    }

    /// The JSON names of columns that were removed from a dataset. If an older version still has them, this device does not count them as
    /// missing.
    package func removedColumns(of schema: DatasetSchema) throws -> [String] { try value("removedColumns:\(schema.name)") ?? [] }

    /// The JSON names of the columns that were removed from these datasets, by dataset name.
    package func removedColumns(of schemas: [DatasetSchema]) throws -> [String: Set<String>] {
        try Dictionary(schemas.map { ($0.name, Set(try removedColumns(of: $0))) }, uniquingKeysWith: { first, _ in first })
    }

    /// Stores which columns were removed from a dataset.
    package func setRemovedColumns(_ names: [String], of schema: DatasetSchema) throws {
        try setValue("removedColumns:\(schema.name)", names.isEmpty ? nil : names.sorted())
    }

    /// The table's columns that are not synced although they could be, because another device removed them from the dataset.
    package func leftColumns(of schema: DatasetSchema) throws -> [String] { try value("leftColumns:\(schema.name)") ?? [] }

    /// Stores which of the table's columns are not synced.
    package func setLeftColumns(_ names: [String], of schema: DatasetSchema) throws {
        try setValue("leftColumns:\(schema.name)", names.isEmpty ? nil : names.sorted())
    }

    /// The names of the records that the next commit will delete, of datasets that this device removed from the zone.
    package func removedRecords() throws -> [String] { try value("removedRecords") ?? [] }

    /// Stores which records the next commit will delete.
    package func setRemovedRecords(_ names: [String]) throws { try setValue("removedRecords", names.isEmpty ? nil : names.sorted()) }

    func value<T: Decodable>(_ key: String) throws -> T? {
        guard let text = try table.text(of: key) else { return nil }
        do {
            return try StrictJSON.decode(T.self, from: Data(text.utf8))
        } catch {
            throw damaged("snapsync_state", "the value of '\(key)' cannot be read")
        }
    }

    /// Like ``value(_:)``, without the cost of Codable: for values that every run reads.
    func plainValue<T: JSONNodeDecodable>(_ key: String) throws -> T? {
        guard let text = try table.text(of: key) else { return nil }
        do {
            return try StrictJSON.decode(T.self, from: text)
        } catch {
            throw damaged("snapsync_state", "the value of '\(key)' cannot be read")
        }
    }

    func setValue<T: Encodable>(_ key: String, _ value: T?) throws {
        try table.setText(value.map { String(decoding: try StrictJSON.encode($0), as: UTF8.self) }, of: key)
    }

    /// Like ``setValue(_:_:)``, without the cost of Codable: for values that every export or import writes.
    func setPlainValue<T: JSONNodeEncodable>(_ key: String, _ value: T?) throws { try table.setText(value.map { try StrictJSON.text($0) }, of: key) }
}
