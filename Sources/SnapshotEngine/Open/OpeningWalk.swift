import CloudStore
import DirectoryCloud
import Foundation
import LocalTables
import Logging
import SnapshotVersions
public import StrictText
import SyncRuns

/// Opens a store at the highest possible level: cloud and database, else the database, else a database in memory. Keeps the reason for each level
/// that fails.
struct OpeningWalk: Sendable {
    typealias Step = OpeningReport.Step

    let database: String
    /// The caller's backend; nil for a cloud directory or a bucket.
    let backend: CloudDatabase?
    let setup: SetupRequest?
    let createsDatabase: Bool
    let createsTables: Bool
    let options: EngineOptions

    private func engine(_ path: String) throws -> SyncEngine { try SyncEngine(database: path, cloud: backend, options: options) }

    func run() async throws -> SnapshotStore {
        let local: SyncEngine
        let isReadOnly: Bool
        do {
            local = try openDatabase()
            log("opened the database")
            isReadOnly = try prepare(local.database)
        } catch {
            return try standIn(after: [givenUp(.local, error)])
        }
        let problem = await cloudProblem(local)
        let level: OpeningReport.Level = problem == nil ? .cloud : .local
        log("the store is open", ["level": "\(level.rawValue)"])
        let report = OpeningReport(database: database, level: level, path: database, isReadOnly: isReadOnly, givenUp: problem.map { [$0] } ?? [])
        return SnapshotStore(report: report, engine: local, folder: nil)
    }

    private func openDatabase() throws -> SyncEngine {
        if createsDatabase, !FileManager.default.fileExists(atPath: database) {
            let made = try LocalDatabase(path: database, creating: true)
            try made.useWAL()
            log("made the database")
        }
        return try engine(database)
    }

    /// Makes the missing tables if requested. Returns whether the file can only be read.
    private func prepare(_ local: LocalDatabase) throws -> Bool {
        do {
            guard createsTables else {
                try local.holdingWriteLock { _ in }
                return false
            }
            let made = try local.write { try $0.tables.createBuiltIn() }
            log(made.isEmpty ? "the built-in tables are there" : "made the \(Format.word(made.count, "table")) \(made.joined(separator: ", "))")
            return false
        } catch let error as SyncError where error.database == .permissionDenied {
            // A database that can only be read is better than none.
            log("the database can only be read")
            return true
        } catch let error as SyncError where error.database == .busy {
            log("another program holds the database's lock; went on without it")
            return false
        }
    }

    /// Returns the problem that prevents the use of the cloud; nil if there is none.
    private func cloudProblem(_ local: SyncEngine) async -> Step? {
        do {
            let isSetUp = try local.database.read { try $0.settings.exists() }
            if !isSetUp, let setup {
                var setup = setup
                setup.database = database
                if let container = options.container {
                    // Check this before anything is written for a cloud of another application.
                    if let cloud = try? backend ?? CloudLocation.open(setup.cloud) { try await verifyContainer(of: cloud) }
                    setup.container = setup.container ?? container
                }
                _ = try await SyncSetup.run(setup, in: backend)
                log("set the database up for syncing")
            }
            let settings = try local.database.read { try $0.settings.read() }
            await local.gate.askForEntitlement()
            try local.gate.verify()
            log("the gate is open")
            let cloud = try local.openCloud(settings)
            log("opened the location", ["cloud": "\(settings.cloud)"])
            try await verifyContainer(of: cloud)
            _ = try await cloud.zone(settings.zoneID)
            log("found the zone", ["zone": "\(settings.zone)"])
            return nil
        } catch {
            return givenUp(.cloud, error)
        }
    }

    private func verifyContainer(of cloud: CloudDatabase) async throws {
        guard let container = options.container else { return }
        try ContainerIdentifier.verify(container, isThatOf: try await cloud.identity())
        log("the location is that of \(container)")
    }

    /// Logs a step of the opening.
    private func log(_ message: String, _ facts: Logger.Metadata = [:]) {
        options.logger.info("\(message)", metadata: facts.merging(["database": "\(database)"]) { fact, _ in fact })
    }

    /// Makes the report's entry for a level that failed.
    private func givenUp(_ level: OpeningReport.Level, _ error: any Error) -> Step {
        let error = SyncError(error)
        log("gave up the level \(level.rawValue)", ["identifier": "\(error.identifier)", "error": "\(error)"])
        return Step(level: level, error: error)
    }

    /// Makes a database in memory.
    func standIn(after steps: [Step]) throws -> SnapshotStore {
        try SyncError.at(.open) {
            let folder = try MemoryFolder()
            let path = "\(folder.path)/store.db"
            let database = try LocalDatabase(path: path, creating: true)
            try database.useWAL()
            try database.write { transaction in
                if createsTables { _ = try transaction.tables.createBuiltIn() }
                try transaction.settings.markInMemory()
            }
            log("made a database in memory", ["path": "\(path)"])
            let report = OpeningReport(database: self.database, level: .inMemory, path: path, isReadOnly: false, givenUp: steps)
            return SnapshotStore(report: report, engine: try engine(path), folder: folder)
        }
    }
}

/// The level at which a store was opened, and why no higher level was possible.
public struct OpeningReport: Sendable {
    /// What a store works with.
    public enum Level: String, Sendable {
        /// The database and the cloud.
        case cloud
        /// Only the database. It syncs as soon as the problem with the cloud is gone.
        case local
        /// An in-memory replacement. It is lost when the program ends, and never published.
        case inMemory
    }

    /// A level that could not be reached.
    public struct Step: Sendable {
        /// The level that could not be reached: `cloud` or `local`.
        public let level: Level
        /// Its identifier, the place, the reason, and what to do.
        public let error: SyncError
    }

    /// The requested database.
    public let database: String
    /// The level that was reached.
    public let level: Level
    /// The file to read and write: the database or its replacement.
    public let path: String
    /// Whether that file can only be read.
    public let isReadOnly: Bool
    /// The levels that could not be reached, in order.
    public let givenUp: [Step]
}
