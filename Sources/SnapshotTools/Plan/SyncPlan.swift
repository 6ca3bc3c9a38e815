import CloudStore
import Foundation
import LocalStore
import LocalTables
public import SnapshotEngine
import SnapshotModel
public import SnapshotVersions
public import StrictText
public import SyncRuns

/// What a sync would do on each side.
///
/// A plan is valid for the state from which it was made: the applied version, the newest version, and the last logged change.
public struct SyncPlan: Sendable, Codable, Hashable {
    /// How many entities would be added, changed and removed on one side.
    public struct Counts: Sendable, Codable, Hashable {
        public internal(set) var added = 0
        public internal(set) var changed = 0
        public internal(set) var removed = 0

        /// All of them together.
        public var total: Int { added + changed + removed }
    }

    /// One entity that a sync would change on a side. Under the policy `single` an entity can be removed on both sides; then it is listed twice.
    public struct Item: Sendable, Codable, Hashable {
        /// The side that would change: `local`, `cloud`, or `kept` for a reader's change that stays on this device.
        public let side: String
        /// `added`, `changed` or `removed`, on that side.
        public let change: String
        /// The entity's key.
        public let key: ReportedKey
        /// The side whose state wins: `local` or `cloud`.
        public let wins: String
        /// The reason why that side wins.
        public let reason: String
    }

    public struct Dataset: Sendable, Codable, Hashable {
        public let name: String
        /// The changes in this database.
        public let local: Counts
        /// The changes in the cloud.
        public let cloud: Counts
        /// The changes of a reader that stay on this device.
        public let kept: Counts
        /// How many entities were changed on both sides.
        public let conflicts: Int
        /// The first entities that would change, in key order.
        public let items: [Item]
    }

    /// What the query of an audience's table would write into it first. The counts of the dataset are without it.
    public struct Refresh: Sendable, Codable, Hashable {
        public let table: String
        public let changes: Counts
    }

    public let formatVersion: Int
    public let madeAt: Instant
    public let database: String
    public let cloudUUID: String
    public let zone: String
    public let device: String
    public let role: String
    /// The version that is applied here; nil before the first.
    public let version: Int?
    /// The SHA-256 of that version's commit.
    public let versionHash: String?
    /// The zone's newest version; nil if it has none.
    public let newestVersion: Int?
    /// The SHA-256 of that version's commit.
    public let newestHash: String?
    /// The sequence number of the last logged change; 0 before the first.
    public let sequence: Int64
    public let datasets: [Dataset]
    /// At a publisher, how many edits of readers wait. A sync decides them, which the counts above leave out.
    public let waitingEdits: Int
    /// Why a sync would stop before it changes anything, each in a sentence; usually empty.
    public let refusals: [String]

    /// Of an audience: the tables that its queries would change.
    public let refreshes: [Refresh]
    /// The plans of the audiences that are filled from this database, which are synced first.
    public internal(set) var audiences: [SyncPlan] = []

    /// Whether a sync would change nothing in this database and its zone.
    public var isEmpty: Bool {
        datasets.allSatisfy { $0.local.total + $0.cloud.total == 0 } && version == newestVersion && waitingEdits == 0 && refreshes.isEmpty
    }

    static let formatVersion = 1
}

extension SyncEngine {
    /// Computes what a sync would do, without changing any row or file. If sync is off, computes what it would do once turned on.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of listed entities for each dataset; all are counted.
    ///   - asIfEnabled: whether to leave out that sync is off, because the user is about to turn it on.
    public func plan(limit: Int = 10, asIfEnabled: Bool = false) async throws -> SyncPlan {
        try await WorkerThreads.host {
            await gate.askForEntitlement(asIfWanted: true)
            let context = try context(asIfWanted: true)
            let isOff = try asIfEnabled ? nil : gate.standing().reason.map { "\($0.reason); \($0.hint)" }
            let audiences = try await forEachAudience { try await $0.plan(limit: limit) }
            var plan = try await SyncPlanner(context: context, limit: limit, refusals: [isOff].compactMap(\.self)).run()
            plan.audiences = try audiences.map { try $0.get() }
            return plan
        }
    }

    /// Writes a plan to a file for ``apply(planFile:progress:)``. The file must not exist yet.
    public static func write(_ plan: SyncPlan, to path: String) throws {
        do {
            try StrictJSON.encode(plan).write(to: URL(fileURLWithPath: path), options: .withoutOverwriting)
        } catch let error as CocoaError where error.code == .fileWriteFileExists {
            throw SyncError(.refused, step: .store, at: path, "there is a file of that name", hint: "name another one, or remove it first")
        } catch {
            throw SyncError(.inputOutput, step: .store, at: path, "the plan cannot be written", hint: "check the folder and its room")
        }
    }

    /// Runs the sync that a plan describes, unless either side has changed since the plan was made.
    ///
    /// - Throws: ``SyncError`` with `.refused` if the plan belongs to another database or something has changed since.
    public func apply(planFile path: String, progress: ProgressHandler? = nil) async throws -> SyncReport {
        try await WorkerThreads.host {
            try await verify(Self.read(path), from: path)
            return try await sync(progress: progress)
        }
    }

    private static func read(_ path: String) throws -> SyncPlan {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw SyncError(.nothingThere, step: .open, at: path, "the plan cannot be read", hint: "make one with: snapsync sync -n --out FILE")
        }
        guard let plan = try? StrictJSON.decode(SyncPlan.self, from: data), plan.formatVersion == SyncPlan.formatVersion else {
            throw SyncError(.dataRefused, step: .decode, at: path, "the file is no plan of this version", hint: "make one with: snapsync sync -n --out FILE")
        }
        return plan
    }

    private func verify(_ plan: SyncPlan, from path: String) async throws {
        let context = try context()
        let settings = context.settings
        guard plan.cloudUUID == settings.cloudUUID, plan.zone == settings.zone, plan.device == settings.device, plan.role == settings.role.rawValue else {
            throw SyncError(
                .refused, step: .open, at: path, "the plan was made for another database, location or role",
                hint: "make a plan of this one: snapsync sync -n --out FILE")
        }
        let (applied, sequence) = try database.read { (try $0.state.applied(), try $0.changeLog.lastSequence()) }
        guard applied?.number == plan.version, applied?.hash == plan.versionHash, sequence == plan.sequence else {
            throw SyncError(
                .refused, step: .read, at: database.path, "this database was changed since the plan was made; nothing was done",
                hint: "make a new plan and look at it")
        }
        let newest = try await context.fetchUpstreamChanges().changes.token
        guard newest?.number == plan.newestVersion, newest?.hash == plan.newestHash else {
            throw SyncError(
                .refused, step: .fetch, at: context.zone.place, "another version was published since the plan was made; nothing was done",
                hint: "make a new plan and look at it")
        }
        guard try SyncPlan.Refresh.all(context) == plan.refreshes else {
            throw SyncError(
                .refused, step: .read, at: database.path, "its source was changed since the plan was made; nothing was done",
                hint: "make a new plan and look at it")
        }
        let audiences = try await forEachAudience { audience in
            guard let planned = plan.audiences.first(where: { $0.database.exact == audience.database.path.exact }) else { return Void?.none }
            return try await audience.verify(planned, from: path)
        }
        for one in audiences { try one.get() }
    }
}
