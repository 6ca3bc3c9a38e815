package import SnapshotModel
package import StrictText
extension TombstonesAndInstants {
    package func instants(of key: EntityKey, in schema: DatasetSchema) throws -> RowInstants { RowInstants(row: try appliedInstant(of: key, in: schema)) }
    func keepOwnInstant(of key: EntityKey, in schema: DatasetSchema) throws {}
}
package struct HeldShim: TransactionPart {
    let transaction: LocalTransaction
    package func row(of key: EntityKey, in schema: DatasetSchema) throws -> String? { nil }
    package func rows(of schema: DatasetSchema) throws -> [(key: EntityKey, row: String)] { [] }
    package func remove(_ key: EntityKey, of schema: DatasetSchema) throws {}
}
extension LocalTransaction { package var held: HeldShim { HeldShim(transaction: self) } }
