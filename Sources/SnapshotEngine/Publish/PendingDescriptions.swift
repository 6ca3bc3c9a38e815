import CloudStore
import LocalStore
import SnapshotModel
import SnapshotVersions

/// The descriptions of datasets that the next commit has to carry.
///
/// A device publishes the description of a dataset if the zone has none, if the table's structure has changed here since the last look, or if it
/// describes more columns than the zone does. Otherwise it leaves the zone's description alone: two devices may have other names for their tables.
/// The built-in datasets need none, for every program knows them.
struct PendingDescriptions: Sendable {
    /// The records for the commit.
    private(set) var records: [CloudRecord] = []
    /// What was looked at; recorded once the commit is made.
    private(set) var note: DescriptionNote?

    var isEmpty: Bool { records.isEmpty }

    /// Looks at the tables, if the database's schema has changed since the last look.
    static func find(_ device: SyncContext, after token: ChangeToken?) async throws -> PendingDescriptions {
        let datasets = device.settings.datasets
        let own = datasets.filter { !DatasetSchema.builtIn.contains($0) }
        guard !own.isEmpty else { return PendingDescriptions() }
        let (known, version) = try SyncError.at(.read) {
            try device.database.read { (try $0.state.descriptionNote(), try $0.tables.schemaVersion()) }
        }
        if let known, known.schemaVersion == version, own.allSatisfy({ known.hashes[$0.name] != nil }) { return PendingDescriptions() }

        var pending = PendingDescriptions()
        let descriptions = try SyncError.at(.read) {
            try device.database.read { transaction in
                try own.map { DatasetDescription(schema: $0, structure: try transaction.tables.structure(of: $0, among: datasets)) }
            }
        }
        var hashes: [String: String] = [:]
        for one in descriptions { hashes[one.schema.name] = ContentHash.of(try one.text().utf8) }
        let changed = descriptions.filter { known?.hashes[$0.schema.name] != hashes[$0.schema.name] }
        if !changed.isEmpty {
            let state = token == nil ? nil : try await device.records(at: token?.number, notBefore: token.map { AppliedVersion($0) })
            for one in changed {
                // What nobody can read is replaced.
                let there = state?.record(DatasetDescription.recordName(of: one.schema.name)).flatMap { try? DatasetDescription($0, in: device.zone) }
                if let there, there == one || known?.hashes[one.schema.name] == nil && !one.describesMore(than: there) { continue }
                pending.records.append(try one.record())
            }
        }
        let note = DescriptionNote(schemaVersion: version, hashes: hashes)
        if pending.isEmpty {
            try SyncError.at(.read) { try device.database.write { try $0.state.setDescriptionNote(note) } }
        } else {
            pending.note = note
        }
        return pending
    }
}

extension DatasetDescription {
    /// Whether the dataset has all columns of another description, and further ones.
    fileprivate func describesMore(than other: DatasetDescription) -> Bool {
        Set(schema.columns.map(\.name)).isStrictSuperset(of: other.schema.columns.map(\.name))
    }
}
