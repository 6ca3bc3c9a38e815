import CloudStore
import LocalTables
import SnapshotEngine
import SnapshotModel
import SnapshotVersions
import StrictText
import SyncRuns

/// The facts about a zone. Each part is read separately, because a damaged zone does not give all of them.
struct ZoneSurvey: Sendable {
    let info: ZoneInfo
    /// The newest version.
    let state: DoctorFacts.Look<ZoneState>
    /// The kept commits, oldest first.
    let commits: DoctorFacts.Look<[Commit]>
    let files: DoctorFacts.Look<[StoredFile]>
    let devices: DoctorFacts.Look<[DeviceReport]>
    /// The signature of the zone; nil if it is not signed or the list of members cannot be read.
    let signature: SignatureReport?
    /// Whether this device's private keys can be used; nil without a device, and in a zone that is not signed.
    let keys: DoctorFacts.Look<String>?
    /// The versions that pins keep; nil if the newest version cannot be read.
    let pins: DoctorFacts.Look<PinnedVersions>?
    /// Which versions changed data, to count what a device lacks.
    let versions: DataVersions
    /// The files that no kept version needs; nil if that cannot be determined.
    let unneeded: RetentionPlan.Removal?
    /// Why the zone does not continue from the applied version; nil if it does, or if no version was applied.
    let rollback: SyncError?

    /// Reads the facts about a zone.
    ///
    /// - Throws: ``SyncError`` if the zone does not exist or cannot be opened.
    init(_ cloud: CloudDatabase, _ zone: ZoneID, context: SyncContext?, applied: AppliedVersion?, now: Instant) async throws {
        info = try await cloud.zone(zone)
        // List the files first. A file that is published during the survey is then not in the listing, so it cannot be taken for an unneeded
        // one.
        files = await DoctorFacts.look(.fetch) { try await cloud.storedFiles(in: zone) }
        state = await DoctorFacts.look(.fetch) { try await cloud.records(in: zone) }
        commits = await DoctorFacts.look(.fetch) { try await cloud.history(in: zone) }
        devices = await DoctorFacts.look(.fetch) { try await cloud.deviceReports(in: zone) }
        let backend: CloudDatabase = context?.signedZone?.cloud ?? cloud
        signature = try? await SignatureReport(backend, zone, own: context?.signedZone?.authority.knowledge.own)
        if let signed = context?.signedZone {
            keys = await DoctorFacts.look(.open) {
                _ = try signed.authority.signer()
                if let keys = signed.keys, try keys.isKnown() { _ = try keys.newest() }
                return signed.keyStore.place(of: signed.owner)
            }
        } else {
            keys = nil
        }
        // The pins of a sealed zone are sealed as well, so reading them needs a device.
        if let newest = try? state.get(), !info.isSealed || context != nil {
            pins = await DoctorFacts.look(.fetch) { try await PinnedVersions(newest.pins, in: cloud, zone) }
        } else {
            pins = nil
        }
        unneeded = try? await Self.unneeded(in: cloud, zone: zone, try files.get(), try commits.get(), pins: try pins?.get(), now: now)
        let newest = (try? state.get())?.token, held = ((try? devices.get()) ?? []).map { $0.token?.number ?? 0 }
        versions = (try? await DataVersions(after: held, upTo: newest, in: cloud, zone)) ?? DataVersions(allUpTo: newest)
        var rollback: SyncError?
        do {
            if let applied { _ = try await cloud.changes(since: applied.token, in: zone) }
        } catch let error as CloudError where error.code == .rolledBack {
            rollback = SyncError(error, step: .fetch)
        } catch {
            // Any other error also shows when the newest version is read.
        }
        self.rollback = rollback
    }

    /// The number of the newest version; nil if there is none or it is not known.
    var newest: Int? { (try? state.get())?.token?.number }

    /// The numbers that are missing between the first and the last commit file.
    var gaps: [Int] {
        let numbers = Set(((try? files.get()) ?? []).compactMap { file in if case .commit(let number) = file.kind { number } else { nil } })
        guard let first = numbers.min(), let last = numbers.max(), last - first < numbers.count + 1_000_000 else { return [] }
        return (first...last).filter { !numbers.contains($0) }
    }

    /// The total size of the files of the newest version, in bytes.
    var newestByteCount: Int { ((try? state.get())?.records ?? []).flatMap(\.assets).reduce(0) { $0 + $1.byteCount + ($1.index?.byteCount ?? 0) } }

    /// The files that nothing would need even if every kept commit stayed.
    private static func unneeded(
        in cloud: CloudDatabase, zone: ZoneID, _ files: [StoredFile], _ commits: [Commit], pins: PinnedVersions?, now: Instant
    ) async throws -> RetentionPlan.Removal? {
        guard let pins else { return nil }
        let facts = RetentionPlan.Facts(commits: commits, files: files, pins: pins, clocks: [now])
        let plan = RetentionPlan(facts, RetentionPolicy(keepLast: nil, keepWithin: .seconds(1_000_000_000_000)))
        var oldest: [CloudRecord] = []
        if let first = plan.keptVersions.first { oldest = try await cloud.records(in: zone, at: first, notBefore: nil).records }
        return plan.removal(oldest: oldest)
    }
}
