import CloudStore
import Foundation
import LocalStore
public import SnapshotEngine
import SnapshotModel
import SnapshotVersions
import StrictText

extension SyncEngine {
    /// Computes what a sync would do, without changing any row or file. If sync is off, computes what it would do once turned on.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of listed entities for each dataset; all are counted.
    ///   - asIfEnabled: whether to leave out that sync is off, because the user is about to turn it on.
    public func plan(limit: Int = 10, asIfEnabled: Bool = false) async throws -> SyncPlan {
        try await WorkerThreads.host {
            await gate.askForEntitlement(asIfWanted: true)
            let device = try device(asIfWanted: true)
            let isOff = try asIfEnabled ? nil : gate.standing().reason.map { "\($0.reason); \($0.hint)" }
            return try await SyncPlanner(device: device, limit: limit, refusals: [isOff].compactMap(\.self)).run()
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
            throw SyncError(.nothingThere, step: .open, at: path, "the plan cannot be read", hint: "make one with: snapsync plan --out FILE")
        }
        guard let plan = try? StrictJSON.decode(SyncPlan.self, from: data), plan.formatVersion == SyncPlan.formatVersion else {
            throw SyncError(.dataRefused, step: .decode, at: path, "the file is no plan of this version", hint: "make one with: snapsync plan --out FILE")
        }
        return plan
    }

    private func verify(_ plan: SyncPlan, from path: String) async throws {
        let device = try device()
        let settings = device.settings
        guard plan.cloudUUID == settings.cloudUUID, plan.zone == settings.zone, plan.device == settings.device, plan.role == settings.role.rawValue else {
            throw SyncError(
                .refused, step: .open, at: path, "the plan was made for another database, cloud or role",
                hint: "make a plan of this one: snapsync plan --out FILE")
        }
        let (applied, sequence) = try database.read(at: .read) { (try $0.state.applied(), try $0.changeLog.lastSequence()) }
        guard applied?.number == plan.version, applied?.hash == plan.versionHash, sequence == plan.sequence else {
            throw SyncError(
                .refused, step: .read, at: database.path, "this database was changed since the plan was made; nothing was done",
                hint: "make a new plan and look at it")
        }
        let newest = try await device.fetchUpstreamChanges().changes.token
        guard newest?.number == plan.newestVersion, newest?.hash == plan.newestHash else {
            throw SyncError(
                .refused, step: .fetch, at: "zone \(device.zone)", "another version was published since the plan was made; nothing was done",
                hint: "make a new plan and look at it")
        }
    }
}
