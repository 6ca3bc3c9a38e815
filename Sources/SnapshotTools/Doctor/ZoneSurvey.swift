import CloudStore
import CommitLog
import DirectoryCloud
import LocalStore
import SnapshotEngine
import SnapshotModel
import SnapshotVersions
import StrictText

/// What a zone has and what is wrong with it, looked at in parts, for a zone that needs a doctor does not give all of them.
struct ZoneSurvey: Sendable {
    let info: ZoneInfo
    /// The newest version.
    let state: DoctorFacts.Look<ZoneState>
    /// The kept commits, oldest first.
    let commits: DoctorFacts.Look<[Commit]>
    let files: DoctorFacts.Look<[StoredFile]>
    let forks: DoctorFacts.Look<[ForkReport]>
    let devices: DoctorFacts.Look<[DeviceReport]>
    /// What makes the zone a signed one; nil if it is none, or the list of members cannot be read.
    let signature: SignatureReport?
    /// Whether the private keys of this device can be used; nil without a device, and in a zone that is not signed.
    let keys: DoctorFacts.Look<String>?
    /// What the pins keep; nil where the newest version cannot be read.
    let pins: DoctorFacts.Look<PinnedVersions>?
    /// Which versions the devices that are behind lack.
    let versions: DataVersions
    /// What no kept version needs; nil where that cannot be said.
    let unneeded: RetentionPlan.Removal?
    /// Why the zone does not go on from the version that is here; nil if it does, or none is here.
    let rollback: SyncError?
    /// What to do where that may be a fork that is not decided yet; nil if it is a rollback.
    let undecided: String?
    /// What is wrong where two devices' commits stand mixed under the plain names; nil if they do not.
    let mixed: MixedFork?

    /// Looks at a zone.
    ///
    /// - Throws: ``SyncError`` where there is no such zone, or it cannot be opened.
    init(_ cloud: any CloudDatabase, _ zone: ZoneID, device: SyncContext?, applied: AppliedVersion?, now: Instant) async throws {
        info = try await cloud.at(.open).zone(zone)
        let inspector = SnapshotInspector(cloud: cloud, zone: zone, applied: applied, device: device)
        // The listing first: what is published while this looks is in no listing, and missed nowhere.
        files = await DoctorFacts.look(.fetch) { try await cloud.storedFiles(in: zone) }
        state = await DoctorFacts.look(.fetch) { try await cloud.records(in: zone) }
        commits = await DoctorFacts.look(.fetch) { try await cloud.history(in: zone) }
        devices = await DoctorFacts.look(.fetch) { try await cloud.deviceReports(in: zone) }
        let backend: any CloudDatabase = device?.signedZone?.cloud ?? cloud
        signature = try? await SignatureReport(backend, zone, own: device?.signedZone?.authority.knowledge.own)
        if let signed = device?.signedZone {
            keys = await DoctorFacts.look(.open) {
                _ = try signed.authority.signer()
                if let keys = signed.keys, try keys.isKnown() { _ = try keys.newest() }
                return signed.keyStore.place(of: signed.owner)
            }
        } else {
            keys = nil
        }
        // The pins of a sealed zone are sealed, too.
        if let newest = try? state.get(), !info.isSealed || device != nil {
            pins = await DoctorFacts.look(.fetch) { try await PinnedVersions(newest.pins, in: cloud, zone) }
        } else {
            pins = nil
        }
        unneeded = try? await Self.unneeded(cloud, zone, try files.get(), try commits.get(), try pins?.get(), now)
        let newest = (try? state.get())?.token, held = ((try? devices.get()) ?? []).map { $0.token?.number ?? 0 }
        versions = (try? await DataVersions(after: held, upTo: newest, in: cloud, zone)) ?? DataVersions(allUpTo: newest)
        var rollback: SyncError?, undecided: String?, healable: UpstreamChanges?
        do {
            if let applied { _ = try await cloud.changes(since: applied.token, in: zone) }
        } catch let error as CloudError where error.code == .rolledBack {
            do {
                // A version that lost its number to another is no rollback: the next sync heals it.
                if let news = try await device?.fetchUpstreamChanges(), news.fork != nil {
                    healable = news
                } else {
                    rollback = SyncError(error, step: .fetch)
                }
            } catch let found as SyncError {
                (rollback, undecided) = (found, found.reason == error.reason ? nil : found.hint)
            }
        } catch {
            // Whatever else is wrong shows in the newest version's own look.
        }
        (self.rollback, self.undecided) = (rollback, undecided)
        forks = await DoctorFacts.look(.fetch) { [healable] in
            if let healable, let device { try await ForkReport.all(healable, at: device) } else { try await inspector.forks() }
        }
        if case .failure = state, let directory = backend as? DirectoryCloud { mixed = try? await directory.mixedFork(in: zone) } else { mixed = nil }
    }

    /// The number of the newest version; nil if there is none, or it is not known.
    var newest: Int? { (try? state.get())?.token?.number }

    /// The numbers that are missing between the first and the last commit that lie there.
    var gaps: [Int] {
        let numbers = Set(((try? files.get()) ?? []).compactMap { file in if case .commit(let number) = file.kind { number } else { nil } })
        guard let first = numbers.min(), let last = numbers.max(), last - first < numbers.count + 1_000_000 else { return [] }
        return (first...last).filter { !numbers.contains($0) }
    }

    /// The size of what the newest version needs, in bytes.
    var newestByteCount: Int { ((try? state.get())?.records ?? []).flatMap(\.assets).reduce(0) { $0 + $1.byteCount + ($1.index?.byteCount ?? 0) } }

    /// The files that nothing would need if every kept commit stayed.
    private static func unneeded(
        _ cloud: any CloudDatabase, _ zone: ZoneID, _ files: [StoredFile], _ commits: [Commit], _ pins: PinnedVersions?, _ now: Instant
    ) async throws -> RetentionPlan.Removal? {
        guard let pins else { return nil }
        let facts = RetentionPlan.Facts(commits: commits, files: files, pins: pins, clocks: [now])
        let plan = RetentionPlan(facts, RetentionPolicy(keepLast: nil, keepWithin: .seconds(1_000_000_000_000)))
        var oldest: [CloudRecord] = []
        if let first = plan.keptVersions.first { oldest = try await cloud.records(in: zone, at: first, notBefore: nil).records }
        return plan.removal(oldest: oldest)
    }
}
