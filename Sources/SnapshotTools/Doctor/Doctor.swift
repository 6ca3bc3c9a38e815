import CloudStore
import DirectoryCloud
import LocalTables
import ObjectCloud
public import SnapshotEngine
import SnapshotModel
import SnapshotVersions
import StrictText
import SyncRuns

/// Collects the facts and runs every check on them.
struct Doctor: Sendable {
    let database: String?
    let cloud: String
    let zone: ZoneID

    /// The findings, ordered from the cloud to the database.
    func report(_ facts: DoctorFacts, own device: String?) -> DoctorReport {
        var findings: [DoctorReport.Finding] = []
        let survey = try? facts.zone?.get()
        if let directory = facts.directory {
            findings += [.ok("location", "\(cloud) is there, and is the location that is meant")] + DirectoryChecks.findings(directory, survey, now: facts.now)
        }
        if let bucket = facts.bucket { findings += bucket.findings(manyPublish: survey?.info.publishers == .many) }
        switch facts.zone {
        case .success(let survey): findings += ZoneChecks.findings(survey, own: device, at: facts.place, now: facts.now)
        case .failure(let error):
            findings.append(.error(facts.directory == nil && facts.bucket == nil ? "location" : "zone", error, means: "nothing can be imported or published"))
        case nil: break
        }
        if let survey, !survey.info.isSealed, let readers = facts.readers {
            findings.append(
                .notice(
                    "encryption", "the zone is not sealed, and \(readers.place)", means: "whoever can read \(readers.what) can read every row",
                    do: "if that is more than those who may: snapsync zone encrypt, on a device that publishes"))
        }
        findings += facts.leftZones.map { $0.finding(isSealed: survey?.info.isSealed == true) }
        if let database = facts.database { findings += DatabaseChecks.findings(database) }
        switch facts.status {
        case .success(let status):
            findings += SyncChecks.findings(status, at: facts.place)
            // Errors that only a sync's own access to the cloud shows.
            if let problem = status.cloudProblem, !findings.contains(where: { $0.severity == .error }) {
                findings.append(.error("sync", problem, means: "the next sync fails in the same way"))
            }
        case .failure(let error): findings.append(.error("status", error, means: "what is known of the last sync cannot be read"))
        case nil: break
        }
        return DoctorReport(database: database, cloud: cloud, zone: zone.name, findings: findings)
    }
}

extension SyncEngine {
    /// Examines the database, the cloud directory and the zone, and reports problems with their remedies. It repairs nothing.
    ///
    /// If the device publishes and can write, the file system is probed in a folder that is removed afterwards.
    ///
    /// - Parameter isBrief: whether to examine only what can be read quickly, without writing: not the whole database, and not what the store can do.
    /// - Throws: ``SyncError`` if the database was not set up.
    public func doctor(isBrief: Bool = false) async throws -> DoctorReport { try await WorkerThreads.host { try await examine(isBrief) } }

    private func examine(_ isBrief: Bool) async throws -> DoctorReport {
        let settings = try database.read { try $0.settings.read() }
        let zone = settings.zoneID
        let local = DatabaseFacts(database, settings, isBrief: isBrief)
        let publishes = settings.role.publishes && !isBrief
        var facts = DoctorFacts(place: database.path.shellWord, now: now())
        facts.database = local
        facts.status = await DoctorFacts.look(.read) { try await status() }
        var path = settings.cloud
        // While the gate is closed, the cloud is not accessed.
        if (try? await gate.decision()) == .open {
            let applied = try database.read { try $0.state.appliedHere() }
            facts.zone = await DoctorFacts.look(.open) {
                let (cloud, signedZone) = try openToLook(settings)
                let backend: CloudDatabase = signedZone?.cloud ?? cloud
                if let directory = backend as? DirectoryCloud {
                    path = directory.path
                    facts.directory = await DirectoryFacts(
                        directory, zone: zone, publishes: settings.role.publishes, triesOut: publishes, device: settings.device)
                    facts.directory?.isSaidReplicated = try database.read { try $0.settings.operatorSettings().isReplicated }
                }
                if let bucket = backend as? ObjectCloud { facts.bucket = await BucketFacts(bucket, triesOut: publishes) }
                var context = try context(settings, cloud)
                context.signedZone = signedZone
                for earlier in try database.read({ try $0.state.earlierZones() }) {
                    facts.leftZones.append(await LeftZoneFacts(ZoneID(earlier.zone, scope: zone.scope), before: zone, in: backend))
                }
                return try await ZoneSurvey(cloud, zone, context: context, applied: applied, now: now())
            }
        }
        return Doctor(database: database.path, cloud: path, zone: zone).report(facts, own: settings.device)
    }
}

extension SnapshotInspector {
    /// Examines a cloud directory and a zone without a database, and reports problems with their remedies. Writes nothing.
    public static func doctor(cloud path: String, zone name: String = "ZentikSyncZone") async -> DoctorReport {
        let zone = ZoneID(name)
        var facts = DoctorFacts(place: path.shellWord, now: .now)
        facts.zone = await DoctorFacts.look(.open) {
            let cloud = try CloudLocation.open(path)
            if let directory = cloud as? DirectoryCloud {
                facts.directory = await DirectoryFacts(directory, zone: zone, publishes: false, triesOut: false, device: nil)
            }
            if let bucket = cloud as? ObjectCloud { facts.bucket = await BucketFacts(bucket, triesOut: false) }
            return try await ZoneSurvey(cloud, zone, context: nil, applied: nil, now: .now)
        }
        return Doctor(database: nil, cloud: path, zone: zone).report(facts, own: nil)
    }
}

/// The facts that the checks use. All are collected before the first check; each part is collected separately, so that one failure hides no
/// other part.
struct DoctorFacts: Sendable {
    /// The result of collecting one part, or the reason why that failed.
    typealias Look<T> = Result<T, SyncError>

    /// The option that names the database, or the cloud alone, on the command line.
    let place: String
    let now: Instant
    /// The facts about the cloud's directory; nil if the cloud is no directory, or the gate is closed.
    var directory: DirectoryFacts?
    /// The facts about the cloud's bucket; nil if the cloud is no bucket, or the gate is closed.
    var bucket: BucketFacts?
    var zone: Look<ZoneSurvey>?
    var database: DatabaseFacts?
    /// The facts about the zones that this database has left.
    var leftZones: [LeftZoneFacts] = []
    /// The report of `status`; nil without a database.
    var status: Look<StatusReport>?

    /// Where others than the zone's devices can read the cloud's files; nil if nothing indicates that.
    var readers: StoreReaders? {
        StoreReaders(isBucket: bucket != nil, tool: directory?.tool?.name, isSaidReplicated: directory?.isSaidReplicated ?? false)
    }

    /// Runs `body` and keeps its result or its error.
    static func look<T>(_ step: SyncStep, _ body: () async throws -> T) async -> Look<T> {
        do { return .success(try await body()) } catch { return .failure(SyncError(error, step: step)) }
    }
}

/// Whether a bucket is suitable as a cloud: facts and findings.
struct BucketFacts: Sendable {
    let location: String
    /// The result of the probe; nil if nothing may be written.
    let probe: DoctorFacts.Look<BucketProbe>?

    /// - Parameter triesOut: whether to probe by writing objects. A reader may lack the permission to write.
    init(_ cloud: ObjectCloud, triesOut: Bool) async {
        location = cloud.location
        probe = triesOut ? await DoctorFacts.look(.open) { try await cloud.probe() } : nil
    }

    func findings(manyPublish: Bool) -> [DoctorReport.Finding] {
        let found = [DoctorReport.Finding.ok("bucket", "\(location) is a location, and the one that is meant")]
        switch probe {
        case nil: return found
        case .failure(let error):
            return found + [.error("probe", error, means: "what the store keeps could not be tried out, and publishing will fail in the same way")]
        case .success(let probe): return found + probe.findings.map { finding($0, probe, manyPublish: manyPublish) }
        }
    }

    private func finding(_ finding: BucketProbe.Finding, _ probe: BucketProbe, manyPublish: Bool) -> DoctorReport.Finding {
        guard !finding.isKept else { return .ok("probe", finding.observation) }
        switch finding.name {
        case "clock":
            return .warning(
                "clock", code: .refused, finding.observation,
                means: "a store refuses requests that are signed with another time, so they are signed by the store's clock",
                do: "set this machine's clock")
        case "missing":
            return .warning(
                "probe", code: .permissionDenied, finding.observation, means: "a missing object cannot be told from one that may not be read",
                do: "grant s3:ListBucket on the bucket")
        default:
            let means = "two devices that publish at the same time can overwrite each other's version"
            return manyPublish
                ? .error(
                    "probe", code: .refused, finding.observation, means: means,
                    do: "let one device publish, or move the location to a store with conditional writes")
                : .warning("probe", code: .refused, finding.observation, means: means, do: "let only this device publish")
        }
    }
}
