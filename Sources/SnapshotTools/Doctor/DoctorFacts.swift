import SnapshotVersions
import StrictText

/// Everything that the checks look at, collected before the first of them: each part by itself, so that one that cannot be had
/// hides no other.
struct DoctorFacts: Sendable {
    /// What a look gave, or why it failed.
    typealias Look<T> = Result<T, SyncError>

    /// How the database, or the cloud alone, is named on the command line.
    let place: String
    let now: Instant
    /// nil where there is no database, or the gate is closed and the cloud is not to be touched.
    var directory: DirectoryFacts?
    /// The same for a cloud in a bucket.
    var bucket: BucketFacts?
    var zone: Look<ZoneSurvey>?
    var database: DatabaseFacts?
    /// What lies in the zones that this database has left.
    var leftZones: [LeftZoneFacts] = []
    /// What `status` says; nil without a database.
    var status: Look<StatusReport>?

    /// Where others than the devices can read the cloud, and what they read; nil where nothing shows that.
    var readers: (place: String, what: String)? {
        if bucket != nil { return ("its cloud is a bucket", "the bucket") }
        guard let directory, directory.tool != nil || directory.isSaidReplicated else { return nil }
        return ("\(directory.tool?.name ?? "a tool") replicates its folder", "a copy of the folder")
    }

    /// Looks, and keeps what it gave or why it failed.
    static func look<T>(_ step: SyncStep, _ body: () async throws -> T) async -> Look<T> {
        do { return .success(try await body()) } catch { return .failure(SyncError(error, step: step)) }
    }
}
