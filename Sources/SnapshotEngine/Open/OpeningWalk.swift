import CloudStore
import DirectoryCloud
import Foundation
import LocalStore
import Logging
public import SnapshotVersions
import StrictText

/// Opens a store at the highest possible level: cloud and database, else the database, else a database in memory. Keeps the reason for each level
/// that fails.
struct OpeningWalk: Sendable {
    typealias Step = OpeningReport.Step

    let database: String
    let container: String?
    let setup: SetupRequest?
    let createsDatabase: Bool
    let createsTables: Bool
    /// The caller's backend; nil for a cloud directory or a bucket.
    let backend: CloudDatabase?
    /// Whether the application wants no cloud.
    var isLocalOnly = false
    let logger: Logger
    /// Opens an engine on a file.
    let engine: @Sendable (String) throws -> SyncEngine

    func run() async throws -> SnapshotStore {
        let local: SyncEngine
        let isReadOnly: Bool
        do {
            local = try openDatabase()
            log("opened the database")
            isReadOnly = try prepare(local.database)
        } catch {
            return try standIn(after: [givenUp(.local, Self.kind(ofLocal: error), error)])
        }
        let problem = isLocalOnly ? nil : await cloudProblem(local)
        let level: OpeningReport.Level = isLocalOnly ? .localOnly : problem == nil ? .cloud : .local
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
        } catch let error as LocalStoreError where error.code == .permissionDenied {
            // A database that can only be read is better than none.
            log("the database can only be read")
            return true
        } catch let error as LocalStoreError where error.code == .busy {
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
                if let container {
                    // Check this before anything is written for a cloud of another application.
                    if let cloud = try? backend ?? CloudLocation.open(setup.cloud), let problem = await containerProblem(cloud) { return problem }
                    setup.container = setup.container ?? container
                }
                _ = try await SyncSetup.run(setup, in: backend)
                log("set the database up for syncing")
            }
            let settings = try local.database.read { try $0.settings.read() }
            await local.gate.askForEntitlement()
            if let reason = try local.gate.standing().reason {
                return givenUp(.cloud, .gateClosed, SyncError(reason, at: database))
            }
            log("the gate is open")
            let cloud = try local.openCloud(settings)
            log("opened the cloud", ["cloud": "\(settings.cloud)"])
            if let problem = await containerProblem(cloud) { return problem }
            _ = try await cloud.zone(settings.zoneID)
            log("found the zone", ["zone": "\(settings.zone)"])
            return nil
        } catch {
            return givenUp(.cloud, Self.kind(ofCloud: error), error)
        }
    }

    private func containerProblem(_ cloud: CloudDatabase) async -> Step? {
        guard let container else { return nil }
        do {
            try ContainerIdentifier.verify(container, isThatOf: try await cloud.identity())
            log("the cloud is that of \(container)")
            return nil
        } catch {
            let isOther = (error as? CloudError)?.code == .badContainer
            return givenUp(.cloud, isOther ? .otherContainer : Self.kind(ofCloud: error), error)
        }
    }

    /// Logs a step of the opening.
    private func log(_ message: String, _ facts: Logger.Metadata = [:]) {
        logger.info("\(message)", metadata: facts.merging(["database": "\(database)"]) { fact, _ in fact })
    }

    /// Makes the report's entry for a level that failed.
    private func givenUp(_ level: OpeningReport.Level, _ kind: Step.Kind, _ error: any Error) -> Step {
        let error = SyncError(error, step: .open)
        log("gave up the level \(level.rawValue)", ["kind": "\(kind)", "error": "\(error)"])
        return Step(level: level, kind: kind, error: error)
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

    private static func kind(ofLocal error: any Error) -> Step.Kind {
        switch Self.localCode(error) {
        case .notFound?: .databaseMissing
        case .damaged?, .schemaMismatch?: .databaseDamaged
        case .permissionDenied?: .permissionDenied
        default: (error as? SyncError).map(kind) ?? .failed
        }
    }

    /// The engine's initialiser has already converted the error of the local store.
    private static func kind(_ error: SyncError) -> Step.Kind {
        switch error.code {
        case .nothingThere: .databaseMissing
        case .dataRefused: .databaseDamaged
        case .permissionDenied: .permissionDenied
        default: .failed
        }
    }

    private static func kind(ofCloud error: any Error) -> Step.Kind {
        if let error = error as? CloudError {
            switch error.code {
            case .cloudUnavailable: return .cloudMissing
            case .notACloud: return .notACloud
            case .badContainer: return .otherCloud
            case .zoneNotFound, .userDeletedZone: return .zoneMissing
            case .permissionFailure: return .permissionDenied
            default: return .failed
            }
        }
        if localCode(error) == .notInitialized { return .notSetUp }
        switch (error as? SyncError)?.code {
        case .cloudUnavailable?: return .cloudMissing
        case .permissionDenied?: return .permissionDenied
        default: return .failed
        }
    }

    private static func localCode(_ error: any Error) -> LocalStoreError.Code? { (error as? LocalStoreError)?.code }
}

/// The level at which a store was opened, and why no higher level was possible.
public struct OpeningReport: Sendable {
    /// What a store works with.
    public enum Level: String, Sendable {
        /// The database and the cloud.
        case cloud
        /// Only the database. It syncs as soon as the problem with the cloud is gone.
        case local
        /// Only the database, because the application wants no cloud
        /// (``SnapshotStore/localOnly(database:createsDatabase:createsTables:logger:now:)``).
        case localOnly
        /// An in-memory replacement. It is lost when the program ends, and never published.
        case inMemory
    }

    /// A level that could not be reached.
    public struct Step: Sendable {
        /// The kind of problem. It is a struct, so that a new kind breaks no switch statement.
        public struct Kind: Hashable, Sendable, CustomStringConvertible {
            public let name: String

            /// The cloud directory does not exist: it is not mounted, or there is no network.
            public static let cloudMissing = Kind(name: "cloudMissing")
            /// The directory exists but contains no cloud.
            public static let notACloud = Kind(name: "notACloud")
            /// The directory contains another cloud than this database's.
            public static let otherCloud = Kind(name: "otherCloud")
            /// The cloud belongs to another application: its container identifier differs.
            public static let otherContainer = Kind(name: "otherContainer")
            /// The cloud lacks the zone.
            public static let zoneMissing = Kind(name: "zoneMissing")
            /// The gate is closed: the user has not turned sync on, or may not sync.
            public static let gateClosed = Kind(name: "gateClosed")
            /// The database was not set up for syncing.
            public static let notSetUp = Kind(name: "notSetUp")
            /// The database does not exist.
            public static let databaseMissing = Kind(name: "databaseMissing")
            /// The file is no SQLite database, or is damaged.
            public static let databaseDamaged = Kind(name: "databaseDamaged")
            public static let permissionDenied = Kind(name: "permissionDenied")
            /// Anything else; the reason says what.
            public static let failed = Kind(name: "failed")

            public init(name: String) { self.name = name }
            public var description: String { name }
        }

        /// The level that could not be reached: `cloud` or `local`.
        public let level: Level
        public let kind: Kind
        /// The place, the reason, and what to do.
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
