import Foundation
package import SnapshotModel
import StrictText

/// What the runs record about themselves: the table `snapsync_state`, one JSON value under each key.
package struct StateTable: TransactionPart {
    let transaction: LocalTransaction

    static let name = LocalTable.state.name
    var table: KeyValueTable { KeyValueTable(transaction: transaction, name: Self.name) }

    /// The version that was applied or published last; nil before the first.
    package func applied() throws -> AppliedVersion? { try plainValue("applied") }

    /// Records the version that is now in the database, in the transaction that brought it.
    package func setApplied(_ version: AppliedVersion) throws {
        try setPlainValue("applied", version)
        try transaction.lineage.record(version)
    }

    /// Forgets the applied version, and leaves the rows: they are to be the first version of another zone.
    func forgetApplied() throws { try setPlainValue("applied", nil as AppliedVersion?) }

    /// The commit that a publisher was about to put in place; nil if none is under way.
    package func intended() throws -> IntendedVersion? { try plainValue("intended") }

    /// Records, or clears, the commit that is about to be put in place. What was intended for the same number before stays known.
    package func setIntended(_ version: IntendedVersion?) throws { try setPlainValue("intended", version?.after(intended())) }

    /// What the database shows instead of the newest version, in words; nil if it follows the cloud.
    package func view() throws -> String? { try plainValue("view") }

    /// Records, or ends, a view.
    package func setView(_ view: String?) throws { try setPlainValue("view", view) }

    /// What the cloud's record of a dataset says, as ``setKnownRecord(_:of:)`` kept it; nil if it was not.
    package func knownRecord(of schema: DatasetSchema) throws -> KnownRecord? { try plainValue("record:\(schema.name)") }

    /// Keeps, or forgets, what the applied version's record of a dataset says, so that the next export need not read it.
    package func setKnownRecord(_ record: KnownRecord?, of schema: DatasetSchema) throws { try setPlainValue("record:\(schema.name)", record) }

    /// What was last looked at of the descriptions that this device publishes; nil before the first look.
    package func descriptionNote() throws -> DescriptionNote? { try value("descriptions") }

    /// Records what was looked at of the descriptions.
    package func setDescriptionNote(_ note: DescriptionNote?) throws { try setValue("descriptions", note) }

    /// The database's schema version when its tables were last compared with the descriptions; nil before the first look.
    package func tablesSeen() throws -> Int64? { try table.text(of: "tablesSeen").flatMap { Int64($0) } }

    /// Records that the tables, as they are now, were compared with the descriptions.
    package func setTablesSeen() throws { try table.setText(String(transaction.tables.schemaVersion()), of: "tablesSeen") }

    /// The columns of a dataset that the applied version has and the rows do not yet: the next import brings them. Empty if there are none.
    package func unseenColumns(of schema: DatasetSchema) throws -> [String] { try value("unseenColumns:\(schema.name)") ?? [] }

    /// Records which columns the next import is to bring.
    package func setUnseenColumns(_ names: [String], of schema: DatasetSchema) throws {
        try setValue("unseenColumns:\(schema.name)", names.isEmpty ? nil : names.sorted())
    }

    /// The JSON names of columns that were taken out of a dataset: what an older version still has of them is not missed here.
    package func removedColumns(of schema: DatasetSchema) throws -> [String] { try value("removedColumns:\(schema.name)") ?? [] }

    /// Records which columns were taken out of a dataset.
    package func setRemovedColumns(_ names: [String], of schema: DatasetSchema) throws {
        try setValue("removedColumns:\(schema.name)", names.isEmpty ? nil : names.sorted())
    }

    /// The table's columns that stay here although they could travel: another device has taken them out of the dataset.
    package func leftColumns(of schema: DatasetSchema) throws -> [String] { try value("leftColumns:\(schema.name)") ?? [] }

    /// Records which of the table's columns stay here.
    package func setLeftColumns(_ names: [String], of schema: DatasetSchema) throws {
        try setValue("leftColumns:\(schema.name)", names.isEmpty ? nil : names.sorted())
    }

    /// The names of the records that the next commit is to delete: of datasets that were taken out of the zone here.
    package func removedRecords() throws -> [String] { try value("removedRecords") ?? [] }

    /// Records which records the next commit is to delete.
    package func setRemovedRecords(_ names: [String]) throws { try setValue("removedRecords", names.isEmpty ? nil : names.sorted()) }

    func value<T: Decodable>(_ key: String) throws -> T? {
        guard let text = try table.text(of: key) else { return nil }
        do {
            return try StrictJSON.decode(T.self, from: Data(text.utf8))
        } catch {
            throw damaged("snapsync_state", "the value of '\(key)' cannot be read")
        }
    }

    /// As ``value(_:)``, without the cost of Codable: for what every run reads.
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

    /// As ``setValue(_:_:)``, without the cost of Codable: for what every export or import writes.
    func setPlainValue<T: JSONNodeEncodable>(_ key: String, _ value: T?) throws { try table.setText(value.map { try StrictJSON.text($0) }, of: key) }
}
