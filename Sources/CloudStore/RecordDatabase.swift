/// The zones of a cloud, their records, and the numbered commits that change them, with large assets beside the records.
///
/// The contract is CloudKit's. Every change of a zone is one commit, all or nothing. Commits are immutable and numbered without gaps. A
/// change token states how far a device has read.
///
///     let state = try await cloud.records(in: zone)
///     let commit = try await cloud.prepare(draft, after: state.token, in: zone)
///     try await cloud.publish(commit)
///
/// ``CloudZone``, queries and subscriptions need only this protocol.
///
/// - Throws: each function throws a ``CloudError``; one that names a zone throws `zoneNotFound` if the cloud has no such zone, and
///   `invalidArguments` for a name outside the grammar of names.
public protocol RecordDatabase: Sendable {
    /// The cloud's identity. Throws `cloudUnavailable` if the cloud cannot be reached, `badContainer` if another cloud is in its place.
    func identity() async throws -> CloudIdentity
    /// Whether the user's cloud can be used. The default calls ``identity()``; a backend with accounts implements it.
    func accountStatus() async -> AccountStatus

    /// Creates a zone, or returns the one that exists.
    func createZone(_ zone: ZoneID, creator: String, publishers: PublisherRule) async throws -> ZoneInfo
    /// The description of a zone.
    func zone(_ zone: ZoneID) async throws -> ZoneInfo
    /// The zones that exist, sorted by scope and name.
    func zones() async throws -> [ZoneInfo]

    /// The commits after `token`, in order, each checked against its parent. For nil: everything that is needed to know the whole zone.
    ///
    /// Throws `changeTokenExpired` if the token's commit was pruned, `rolledBack` if the zone's history does not contain it
    /// or ends before it, `damaged` if a commit does not follow from its parent.
    func changes(since token: ChangeToken?, in zone: ZoneID) async throws -> ZoneChanges
    /// All live records as of commit `number` (the newest, if nil). The history must contain `token`.
    ///
    /// Throws `unknownItem` if there is no such commit, `rolledBack` if the zone's history does not contain `token`.
    func records(in zone: ZoneID, at number: Int?, notBefore token: ChangeToken?) async throws -> ZoneState

    /// All commits that are kept, oldest first, each checked against its parent.
    func history(in zone: ZoneID) async throws -> [Commit]
    /// The commits that lost their number to another commit and are kept under another name. The default returns none, for backends on which
    /// a number can be taken only once.
    func conflictCopies(in zone: ZoneID) async throws -> [ConflictCopy]
    /// Up to `count` commits that end with the token's, oldest first, each the parent of the next; fewer if earlier ones are pruned.
    func commits(upTo token: ChangeToken, count: Int, in zone: ZoneID) async throws -> [Commit]

    /// Makes the commit that would follow `token` (nil: the zone's first) without publishing it.
    func prepare(_ draft: CommitDraft, after token: ChangeToken?, in zone: ZoneID) async throws -> PreparedCommit
    /// Publishes a prepared commit if its number is free. Throws `serverRecordChanged` if another commit has the number.
    ///
    /// If the outcome of the last request is unknown, the backend reads back: a return means that this commit is there and durable.
    func publish(_ commit: PreparedCommit) async throws -> ChangeToken

    /// Starts a new asset of a record. Nothing is written before its first byte, and other devices see nothing before
    /// ``AssetWriter/finish(rawByteCount:)``.
    func newAsset(for record: String, number: Int, kind: AssetKind, in zone: ZoneID) async throws -> sending any AssetWriter
    /// Opens an asset for reading. Throws `pending` if its file has not arrived.
    func openAsset(_ asset: CloudAsset, in zone: ZoneID) async throws -> any AssetReader
    /// Removes assets that were finished but that no commit will name. An asset that a commit names is kept.
    func discard(_ assets: [CloudAsset], in zone: ZoneID) async

    /// Calls `handler` when something may have changed in a zone. The zone need not exist yet. The default returns nil: this cloud reports
    /// no events, and a caller that waits for changes must poll.
    ///
    /// The hints end when the returned source is released. `handler` may be called on any thread.
    func events(in zone: ZoneID, _ handler: @escaping @Sendable (ZoneHint) -> Void) -> (any ZoneEventSource)?
}

extension RecordDatabase {
    /// All live records as of the newest commit.
    public func records(in zone: ZoneID) async throws -> ZoneState {
        try await records(in: zone, at: nil, notBefore: nil)
    }

    public func conflictCopies(in zone: ZoneID) async throws -> [ConflictCopy] { [] }

    public func events(in zone: ZoneID, _ handler: @escaping @Sendable (ZoneHint) -> Void) -> (any ZoneEventSource)? { nil }

    public func commits(upTo token: ChangeToken, count: Int, in zone: ZoneID) async throws -> [Commit] {
        Array(try await history(in: zone).filter { $0.token.number <= token.number }.suffix(count))
    }
}
