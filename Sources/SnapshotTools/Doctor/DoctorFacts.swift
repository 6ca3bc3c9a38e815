import SnapshotVersions
import StrictText

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
