import CloudStore
import Foundation
import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

/// Which datasets a database is to carry, and where their description comes from: a file, the database itself, the zone, or the built-in one.
struct DatasetChoice {
    let datasets: [DatasetSchema]
    /// The tables as they were described, if the description was made from the database.
    var described: DatabaseDescription?
    /// What the zone says, if the description came from there.
    var fromZone: ZoneDescriptions?

    /// Finds out what a request means.
    ///
    /// - Parameter filed: the datasets of the request's file, or the built-in ones (``schemas(_:)``).
    /// - Throws: ``SyncError`` with `.refused` for a table that cannot be used, or where nothing says what travels; `.nothingThere`
    ///   where the zone would have to say it and has no version yet.
    init(_ request: SetupRequest, _ filed: [DatasetSchema], _ backend: (any CloudDatabase)?, _ database: LocalDatabase) async throws {
        if let tables = request.tables {
            let found = try DatabaseDescriber.datasets(of: database, tables, role: request.role)
            datasets =
                try request.readerEdits.map { edits in
                    try database.read(at: .open) {
                        try edits.apply(to: found.datasets, sharesKeys: request.sharesKeys, in: $0, at: request.database)
                    }
                } ?? found.datasets
            described = found
        } else if request.datasets == nil, !request.assumesBuiltIn,
            let found = try await Self.descriptions(in: ZoneID(request.zone), request, backend, database)
        {
            datasets = try database.read(at: .open) { transaction in try found.datasets.map(transaction.tables.byOwnNames) }
            fromZone = found
        } else {
            if request.datasets == nil { try Self.refuseAssuming(request, database) }
            datasets = filed
        }
    }

    /// What the zone says about its datasets; nil where it is for this device to say.
    private static func descriptions(in zone: ZoneID, _ request: SetupRequest, _ backend: (any CloudDatabase)?, _ database: LocalDatabase) async throws
        -> ZoneDescriptions?
    {
        let cloud: any CloudDatabase
        do {
            cloud = try backend ?? CloudLocation.open(request.cloud)
            _ = try await cloud.zone(zone)
        } catch {
            // A publisher may be about to make it.
            guard !request.role.publishes else { return nil }
            throw SyncError(error, step: .open)
        }
        if let found = try await ZoneDescriptions(zone, in: cloud) { return found }
        let hasBuiltIn = try database.read(at: .open) { transaction in
            Set(try transaction.describer.applicationTables().map(\.asciiLowercased)).isSuperset(of: DatasetSchema.builtIn.map { $0.table.asciiLowercased })
        }
        guard !request.role.publishes, !hasBuiltIn else { return nil }
        let creator = try await cloud.at(.open).zone(zone).creator
        throw SyncError(
            .nothingThere, step: .open, at: "zone \(zone)", "nothing has been published yet, so it does not say which tables there are",
            hint: "run snapsync sync on \(creator) first, then this command again; or give a dataset file (--datasets)")
    }

    /// Refuses a database of somebody's own tables where nobody said what travels: the built-in tables are none of its business.
    private static func refuseAssuming(_ request: SetupRequest, _ database: LocalDatabase) throws {
        guard !request.assumesBuiltIn else { return }
        let tables = try database.read(at: .open) { try $0.describer.applicationTables() }
        let builtIn = Set(DatasetSchema.builtIn.map { $0.table.asciiLowercased }), own = Set(tables.map(\.asciiLowercased))
        guard !own.isEmpty, !own.isSuperset(of: builtIn), !(request.createsTables && own.isSubset(of: builtIn)) else { return }
        throw SyncError(
            .refused, step: .open, at: request.database,
            "nothing says which of its \(Format.count(tables.count, "table")) travel: it does not have the built-in ones, \(builtIn.sorted().joined(separator: " and "))",
            hint: "add --tables all; snapsync describe --db \(DatabaseDescriber.shellWord(request.database)) shows what travels then")
    }

    /// The datasets that a file describes, or the built-in ones.
    static func schemas(_ path: String?) throws -> [DatasetSchema] {
        guard let path else { return DatasetSchema.builtIn }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw SyncError(.nothingThere, step: .open, at: path, "the dataset file cannot be read", hint: "check the path given with --datasets")
        }
        do {
            return try DatasetFile.decode(data)
        } catch {
            throw SyncError(.refused, step: .open, at: path, DatasetFile.explain(error), hint: "docs/datasets.md describes the dataset file")
        }
    }
}
