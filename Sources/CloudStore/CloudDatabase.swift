public import Foundation
public import StrictText

/// A place that devices share: zones of records, changed by numbered commits, with large assets beside them.
///
/// The contract is CloudKit's, on anything that can put a file in place if none is there. Every change of a zone is one
/// commit, all or nothing; commits are numbered without gaps and immutable; a change token says how far a device has read.
///
///     let state = try await cloud.records(in: zone)
///     let commit = try await cloud.prepare(draft, after: state.token, in: zone)
///     try await cloud.publish(commit)
///
/// Two backends ship: ``DirectoryCloud`` and ``MemoryCloudDatabase``. Both pass one contract suite.
public protocol CloudDatabase: Sendable {
    /// Who the cloud is. Throws `cloudUnavailable` if it is not there, `badContainer` if another stands in its place.
    func identity() async throws -> CloudIdentity
    /// Whether the user's cloud can be used. A backend that knows of no accounts leaves this to the default, which asks who it is.
    func accountStatus() async -> AccountStatus

    /// Creates a zone, or returns the one that is there.
    func createZone(_ zone: ZoneID, creator: String, publishers: PublisherRule) async throws -> ZoneInfo
    /// What is known of a zone. Throws `zoneNotFound`.
    func zone(_ zone: ZoneID) async throws -> ZoneInfo
    /// The zones that exist, in the order of scope and name.
    func zones() async throws -> [ZoneInfo]

    /// The commits after `token`, in order, checked link by link; nil asks for all that is needed to know the zone whole.
    ///
    /// Throws `changeTokenExpired` if the token's commit was pruned, `rolledBack` if the zone's history does not hold it
    /// or ends before it, `damaged` if a commit does not follow from its parent.
    func changes(since token: ChangeToken?, in zone: ZoneID) async throws -> ZoneChanges
    /// All live records as of commit `number` (the newest, if nil), whose tokens must not lie before `token`.
    func records(in zone: ZoneID, at number: Int?, notBefore token: ChangeToken?) async throws -> ZoneState

    /// All commits that are kept, oldest first, checked link by link.
    func history(in zone: ZoneID) async throws -> [Commit]

    /// The commits that lost their number to another and were kept under another name. A backend on which a number can be taken
    /// only once leaves this to the default: there are none.
    func conflictCopies(in zone: ZoneID) async throws -> [ConflictCopy]
    /// Up to `count` commits that end with the token's, oldest first, each the parent of the next; fewer where earlier ones are pruned.
    func commits(upTo token: ChangeToken, count: Int, in zone: ZoneID) async throws -> [Commit]

    /// Makes the commit that would follow `token` (nil: the zone's first), without putting it in place.
    func prepare(_ draft: CommitDraft, after token: ChangeToken?, in zone: ZoneID) async throws -> PreparedCommit
    /// Puts a prepared commit in place if nobody has taken its number. Throws `serverRecordChanged` if somebody has.
    ///
    /// An unknown outcome is settled by reading back: a return means that the commit is there, durable, and ours.
    func publish(_ commit: PreparedCommit) async throws -> ChangeToken

    /// Begins a new asset of a record. Nothing is touched before its first byte, and nothing is visible to others before
    /// ``AssetWriter/finish(rawByteCount:)``.
    func newAsset(for record: String, number: Int, kind: AssetKind, in zone: ZoneID) async throws -> sending any AssetWriter
    /// Opens an asset for reading. Throws `pending` if its file has not arrived.
    func openAsset(_ asset: CloudAsset, in zone: ZoneID) async throws -> any AssetReader
    /// Removes the assets that `writer` calls put in place but no commit will name.
    func discard(_ assets: [CloudAsset], in zone: ZoneID) async

    /// Says what a device last applied. Kept only if it differs from the device's last report or that is a day old.
    func report(_ report: DeviceReport, in zone: ZoneID) async throws
    /// The newest report of each device, in the order of their names.
    func deviceReports(in zone: ZoneID) async throws -> [DeviceReport]
    /// Removes every report of a device, so that it is listed no longer; nothing happens if there is none.
    func forgetDevice(_ device: String, in zone: ZoneID) async throws

    /// Puts the checkpoint at a kept commit in place: all live records as of that version. A commit whose draft names it makes it
    /// count; a record that keeps its hash can bring the version back when the commit is gone.
    func placeCheckpoint(at number: Int, in zone: ZoneID) async throws -> CheckpointReference
    /// All live records as of a checkpoint, checked by its hash. Throws `unknownItem` if it is not there.
    func records(in zone: ZoneID, of checkpoint: CheckpointReference) async throws -> ZoneState
    /// The files of the zone's history and its assets, as a listing shows them; none is opened.
    func storedFiles(in zone: ZoneID) async throws -> [StoredFile]
    /// The store's own clock, by which ``StoredFile/modified`` goes.
    func storeClock(in zone: ZoneID) async throws -> Instant
    /// Removes files of the zone for good, or none if one of them must stay: commits oldest first and only below a checkpoint that
    /// counts, never what the newest version has. Only a device that may publish does this.
    func remove(_ files: [StoredFile], by device: String, in zone: ZoneID) async throws
    /// Puts a message into its sender's part of the mailbox, durable on return. Sending the same one again changes nothing.
    ///
    /// Throws `serverRecordChanged` if another message has its id, `limitExceeded` if it is too large, `clockUnusable` if `clock`,
    /// the sender's, is a day off the cloud's own.
    func send(_ message: CloudMessage, clock: Instant, in zone: ZoneID) async throws
    /// What waits in the mailbox. A message that cannot be read is told as set aside and stops nothing.
    func mailbox(_ request: MailboxRequest, in zone: ZoneID) async throws -> CloudMailbox
    /// Whether nothing has come to the mailbox or gone since a mark of it was taken, told without listing it; false where that is not
    /// known. A backend without marks leaves this to the default.
    func isMailboxUnchanged(since mark: MailboxMark, in zone: ZoneID) async throws -> Bool
    /// Removes a message, which its sender does once it was answered; harmless if it is gone.
    func removeMessage(_ message: CloudMessageName, in zone: ZoneID) async throws
    /// The tickets in the zone's publish queue, in order. A backend without a queue leaves this and the next two to the defaults.
    func publishQueue(in zone: ZoneID) async throws -> [PublishTicket]
    /// Puts a ticket into the publish queue; nothing happens if it is there.
    func enqueue(_ ticket: PublishTicket, in zone: ZoneID) async throws
    /// Removes a ticket from the publish queue; nothing happens if it is not there.
    func dequeue(_ ticket: PublishTicket, in zone: ZoneID) async throws
    /// The newest report under a device's name; nil if there is none.
    func deviceReport(of device: String, in zone: ZoneID) async throws -> DeviceReport?
}

extension CloudDatabase {
    /// All live records as of the newest commit.
    public func records(in zone: ZoneID) async throws -> ZoneState {
        try await records(in: zone, at: nil, notBefore: nil)
    }

    public func conflictCopies(in zone: ZoneID) async throws -> [ConflictCopy] { [] }
    public func forgetDevice(_ device: String, in zone: ZoneID) async throws {
        throw CloudError(.invalidArguments, at: "\(zone)", "this cloud cannot forget a device")
    }
    public func isMailboxUnchanged(since mark: MailboxMark, in zone: ZoneID) async throws -> Bool { false }
    public func publishQueue(in zone: ZoneID) async throws -> [PublishTicket] { [] }
    public func enqueue(_ ticket: PublishTicket, in zone: ZoneID) async throws {}
    public func dequeue(_ ticket: PublishTicket, in zone: ZoneID) async throws {}
    public func commits(upTo token: ChangeToken, count: Int, in zone: ZoneID) async throws -> [Commit] {
        Array(try await history(in: zone).filter { $0.token.number <= token.number }.suffix(count))
    }

    public func deviceReport(of device: String, in zone: ZoneID) async throws -> DeviceReport? {
        try await deviceReports(in: zone).first { $0.device == device }
    }
}

/// Takes the bytes of one new asset, in order. Synchronous: it may be called from any one thread at a time.
public protocol AssetWriter: AnyObject {
    /// Appends bytes.
    func write(_ bytes: UnsafeRawBufferPointer) throws
    /// Appends bytes that another asset of the same cloud has at `offset`, where the caller has read and checked them: a cloud that can may
    /// copy them from there. Without an implementation they are written like any others.
    func write(_ bytes: UnsafeRawBufferPointer, copying other: any AssetReader, at offset: Int) throws
    /// Sets the block index that will lie beside the asset. At most once, before ``finish(rawByteCount:)``.
    func setIndex(_ index: Data) throws
    /// Makes the asset durable, reads it back, checks its hash, puts it in place, and returns its description.
    func finish(rawByteCount: Int) throws -> CloudAsset
    /// Throws away what was written. Called instead of ``finish(rawByteCount:)``; harmless after it.
    func abandon()
}

extension AssetWriter {
    public func write(_ bytes: UnsafeRawBufferPointer, copying other: any AssetReader, at offset: Int) throws { try write(bytes) }
}

/// Reads one asset at any place. Synchronous and safe to call from several threads at once.
public protocol AssetReader: AnyObject, Sendable {
    /// The asset's size in bytes.
    var byteCount: Int { get }
    /// Fills `buffer` with the asset's bytes from `offset` on. Throws `damaged` if the asset ends before the buffer is full.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws
    /// The block index beside the asset, its size and hash checked; nil if the asset has none.
    func index() throws -> Data?
}
