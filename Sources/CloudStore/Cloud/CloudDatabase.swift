import Platform
public import StrictText
import Synchronization

/// A cloud: zones of records, the numbered commits that change them, large assets beside the records, and a mailbox.
///
///     let state = try await cloud.records(in: zone)
///     let commit = try await cloud.prepare(draft, after: state.token, in: zone)
///     try await cloud.publish(commit)
///
/// The contract is CloudKit's. Every change of a zone is one commit, all or nothing. Commits are immutable and numbered without gaps. A
/// change token states how far a device has read.
///
/// The cloud is in an ``ObjectStore``: a directory, a bucket, CloudKit, memory, or a store of your own:
///
///     let cloud = try await CloudDatabase.create(in: MyStore(), container: "iCloud.org.example.board")
///     let engine = try SyncEngine(database: path, cloud: cloud)
///
/// The objects have the same names and bytes in every store. The store must offer one thing: to store an object only if its path is free, for
/// any number of concurrent writers. That put is the commit point. No object is ever overwritten. A ``CloudLayer`` changes part of a cloud's
/// behaviour.
///
/// - Throws: each function throws a ``CloudError``; one that names a zone throws `zoneNotFound` if the cloud has no such zone, and
///   `invalidArguments` for a name outside the grammar of names.
///
// SAFETY (@unchecked Sendable): everything is constant or locked. Subclasses only add other ways to open a cloud.
open class CloudDatabase: @unchecked Sendable {
    package let store: any ObjectStore
    private let marker: CloudMarkerReader
    /// The marker of public zones. It differs from `marker` if the store keeps public zones apart from a user's private ones.
    private let publicMarker: CloudMarkerReader
    package let nonces: NonceSource
    /// What this device knows of the cloud's zones.
    package let authorities: ZoneAuthorities
    /// The markers that were read. They never change, but a replicated store may be replaced.
    private let zones: KnownZones
    /// What watches and changes the calls, the first added first.
    private let layers: [any CloudLayer]
    /// Documents that are read instead of those in the store (``Zone/mended``).
    private let mended: [String: [UInt8]]
    /// Whether several devices of this process use one object of the cloud, each with its own knowledge of the zones.
    private let isSharedByDevices: Bool

    private final class KnownZones: Sendable {
        let markers = Mutex<[ZoneID: (bytes: [UInt8], info: ZoneInfo)]>([:])
    }

    /// Opens a cloud.
    ///
    /// With a `uuid` no request is sent: the marker never changes, and every commit names its cloud. The marker is read and compared before
    /// anything is written, and when something that was read before is missing.
    ///
    /// - Parameters:
    ///   - uuid: the UUID that the cloud must have; nil accepts any.
    ///   - container: the container identifier that it must have; nil accepts any.
    ///   - found: the identity, if it was created or read just now.
    ///   - words: how messages call the store's place.
    package init(
        _ store: any ObjectStore, expecting uuid: String? = nil, container: String? = nil, found: CloudIdentity? = nil, nonces: NonceSource = .system,
        words: PlaceWords = PlaceWords(), isSharedByDevices: Bool = false
    ) {
        self.store = store
        let path = store.markerPath(of: .private)
        marker =
            found.map { CloudMarkerReader(store, at: path, found: $0) }
            ?? CloudMarkerReader(store, at: path, expecting: uuid, container: container, words: words)
        let publicPath = store.markerPath(of: .public)
        publicMarker = publicPath == path ? marker : CloudMarkerReader(store, at: publicPath, expecting: nil, container: container, words: words)
        self.nonces = nonces
        (authorities, zones) = (ZoneAuthorities(), KnownZones())
        (layers, mended, self.isSharedByDevices) = ([], [:], isSharedByDevices)
    }

    /// The same cloud with something changed.
    ///
    /// - Parameters:
    ///   - layer: a layer that the calls pass before those that were added earlier.
    ///   - mended: documents that read as these bytes.
    ///   - forgetting: whether it begins without what this device knows of the zones.
    package init(_ other: CloudDatabase, adding layer: (any CloudLayer)? = nil, mended: [String: [UInt8]]? = nil, forgetting: Bool = false) {
        (store, marker, publicMarker, nonces, zones) = (other.store, other.marker, other.publicMarker, other.nonces, other.zones)
        authorities = forgetting ? ZoneAuthorities() : other.authorities
        (layers, self.mended, isSharedByDevices) = (other.layers + (layer.map { [$0] } ?? []), mended ?? other.mended, other.isSharedByDevices)
    }

    /// The same cloud, whose calls pass a layer before those that were added earlier.
    package final func adding(_ layer: any CloudLayer) -> CloudDatabase { CloudDatabase(self, adding: layer) }

    /// The same cloud, in which documents read as these bytes. Named by their paths beneath a zone, for looking at one zone.
    package final func mending(_ documents: [String: [UInt8]]) -> CloudDatabase { CloudDatabase(self, mended: documents) }

    /// The same cloud for one device of this process, with its own knowledge of the zones.
    package final func forOneDevice() -> CloudDatabase { isSharedByDevices ? CloudDatabase(self, forgetting: true) : self }

    /// Opens the cloud of a store, without a request. If the store has no cloud, the first call throws `.notACloud`.
    ///
    /// - Parameter container: the container identifier that the cloud must have; nil accepts any.
    public convenience init(_ store: any ObjectStore, container: String? = nil) {
        self.init(store, container: container, nonces: .system)
    }

    /// Creates a cloud in an empty store, or opens the existing one.
    ///
    /// - Parameter container: the container identifier: `iCloud.` and the reverse-DNS name of the application.
    /// - Throws: ``CloudError`` with `.notACloud` if the store has other objects, `.badContainer` if the existing cloud has another container
    ///   identifier, and the store's own errors.
    public static func create(in store: any ObjectStore, container: String) async throws -> CloudDatabase {
        _ = try ContainerIdentifier(container)
        let made = try await CloudDatabase(store).blocking { store in
            try makeMarker(in: store, container: container) {
                guard try store.list("", first: 1).isEmpty else { throw CloudError(.notACloud, at: store.place, "other objects are there, and no location") }
            }
        }
        try ContainerIdentifier.verify(container, isThatOf: made.identity)
        return CloudDatabase(store, found: made.identity)
    }

    /// Creates the marker of a cloud, or reads the existing one. Blocks.
    ///
    /// - Parameters:
    ///   - uuid: the UUID for a new cloud; nil makes a random one.
    ///   - verify: called before a marker is created, and may throw to prevent that. Not called if a marker exists.
    /// - Returns: the cloud's identity, and whether the marker was created now.
    package static func makeMarker(
        in store: any ObjectStore, for scope: CloudScope = .private, container: String, uuid: String? = nil, nonces: NonceSource = .system,
        verifying verify: () throws -> Void = {}
    ) throws -> (identity: CloudIdentity, isNew: Bool) {
        let path = store.markerPath(of: scope)
        if let bytes = try store.get(path, limit: CloudMarker.byteLimit) { return (try CloudMarker.identity(from: bytes), false) }
        try verify()
        let identity = CloudIdentity(formatVersion: CloudMarker.formatVersion, uuid: uuid ?? nonces.uuid(), container: container)
        guard try store.put(CloudMarker.bytes(of: identity), as: path) == .taken else { return (identity, true) }
        guard let bytes = try store.get(path, limit: CloudMarker.byteLimit) else {
            throw CloudError(.inputOutput, at: path, "the object vanished as soon as it was made", isRetryable: true)
        }
        return (try CloudMarker.identity(from: bytes), false)
    }

    /// The identity, read now if it is not known yet. Blocks.
    package final func openedIdentity() throws -> CloudIdentity { try marker.identity() }

    /// The place of the cloud in messages to people.
    package final var location: String { store.place }

    // MARK: the cloud

    /// The cloud's identity. Throws `cloudUnavailable` if the cloud cannot be reached, `badContainer` if another cloud is in its place.
    package final func identity() async throws -> CloudIdentity {
        try await watched(.identity, in: nil) { try await blocking { [marker] _ in try marker.identity() } }
    }

    /// Whether the user's cloud can be used, as the store says, or else by reading the identity.
    public final func accountStatus() async -> AccountStatus {
        if let status = await store.accountStatus() { return status }
        do {
            _ = try await identity()
            return .available
        } catch {
            return AccountStatus(error)
        }
    }

    /// Creates a zone, or returns the one that exists.
    public final func createZone(_ zone: ZoneID, creator: String, publishers: PublisherRule) async throws -> ZoneInfo {
        try await createZone(zone, ZoneMarker(creator: creator, publishers: publishers))
    }

    /// Creates a zone that is signed from its first commit on. If the zone exists, returns it, signed or not.
    ///
    /// - Parameter protection: how the zone is protected; it is signed at least.
    package final func createSignedZone(_ zone: ZoneID, creator: String, publishers: PublisherRule, protection: ZoneProtection) async throws -> ZoneInfo {
        try await createZone(zone, ZoneMarker(creator: creator, publishers: publishers, protection: protection))
    }

    private func createZone(_ zone: ZoneID, _ new: ZoneMarker) async throws -> ZoneInfo {
        try CloudNames.verify(zone)
        try CloudNames.verify(new.creator, isNameOf: "device")
        return try await watched(.createZone, in: zone) { try await blocking { [self] store in try create(zone, new, in: store) } }
    }

    private func create(_ zone: ZoneID, _ new: ZoneMarker, in store: any ObjectStore) throws -> ZoneInfo {
        let identity = try marker.identity()
        if zone.scope == .public, publicMarker !== marker {
            _ = try Self.makeMarker(in: store, for: .public, container: identity.container, nonces: nonces)
        }
        if let found = try info(of: zone, in: store) {
            // The process that stored the marker may have been killed before its name was durable.
            try store.makeDurable("\(zone)/", isOwn: false)
            return found
        }
        try store.makeFolders(of: zone)
        let place = "\(zone)/\(ZoneMarker.fileName)", beginning = Zone(history: HistoryID(cloud: identity.uuid, zone: zone), store: store)
        guard try beginning.commitNumbers().isEmpty && beginning.checkpointNumbers().isEmpty else {
            throw CloudError(
                .pending, at: place, "the zone has a history, but its zone.json is not there",
                hint: "if a sync tool is bringing files, wait for it; else bring the file back from a copy", isRetryable: true)
        }
        _ = try store.put(try new.bytes(), as: place)
        guard let info = try info(of: zone, in: store) else {
            throw CloudError(.inputOutput, at: place, "the file vanished as soon as it was made", isRetryable: true)
        }
        return info
    }

    /// The description of a zone.
    public final func zone(_ zone: ZoneID) async throws -> ZoneInfo { try await call(.zone, in: zone) { [self] in try found(zone, in: $0.store) } }

    /// The names of the private zones, sorted, read or not.
    package final func zoneNames() async throws -> [String] {
        try await blocking { store in
            try store.zoneNames(in: .private).filter(CloudNames.isName).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        }
    }

    /// The zones that exist, sorted by scope and name.
    public final func zones() async throws -> [ZoneInfo] {
        try await watched(.zones, in: nil) {
            try await blocking { [self] store in
                _ = try marker.identity()
                return try CloudScope.allCases.flatMap { scope in
                    let names = try store.zoneNames(in: scope).filter(CloudNames.isName).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
                    return try store.results(of: names.map { name in { [self] in try info(of: ZoneID(name, scope: scope), in: store) } }).compactMap(\.self)
                }
            }
        }
    }

    // MARK: records and commits

    /// The commits after `token`, in order, each checked against its parent. For nil: everything that is needed to know the whole zone.
    ///
    /// Throws `changeTokenExpired` if the token's commit was pruned, `rolledBack` if the zone's history does not contain it
    /// or ends before it, `damaged` if a commit does not follow from its parent.
    package final func changes(since token: ChangeToken?, in zone: ZoneID) async throws -> ZoneChanges {
        let changes = try await call(.changes, in: zone, to: token == nil ? .read : .look) { try HistoryReader($0).changes(since: token) }
        let opened = try await opened(changes.base, changes.commits, by: .changes, in: zone)
        var found = ZoneChanges(base: opened.base, commits: opened.commits, token: changes.token)
        found.answered = changes.answered
        return found
    }

    /// All live records as of commit `number` (the newest, if nil). The history must contain `token`.
    ///
    /// Throws `unknownItem` if there is no such commit, `rolledBack` if the zone's history does not contain `token`.
    package final func records(in zone: ZoneID, at number: Int? = nil, notBefore token: ChangeToken? = nil) async throws -> ZoneState {
        try await opened(call(.records, in: zone) { try HistoryReader($0).state(at: number, notBefore: token) }, in: zone)
    }

    /// All commits that are kept, oldest first, each checked against its parent.
    package final func history(in zone: ZoneID) async throws -> [Commit] {
        try await opened([], call(.history, in: zone) { try HistoryReader($0).all() }, by: .history, in: zone).commits
    }

    /// The commits that lost their number to another commit and are kept under another name.

    /// Up to `count` commits that end with the token's, oldest first, each the parent of the next; fewer if earlier ones are pruned.
    package final func commits(upTo token: ChangeToken, count: Int, in zone: ZoneID) async throws -> [Commit] {
        try await opened([], call(.history, in: zone, to: .look) { try HistoryReader($0).commits(upTo: token, count: count) }, by: .history, in: zone).commits
    }

    /// Makes the commit that would follow `token` (nil: the zone's first) without publishing it.
    package final func prepare(_ draft: CommitDraft, after token: ChangeToken?, in zone: ZoneID) async throws -> PreparedCommit {
        try await watched(.prepare(draft), in: zone) {
            var stored = draft
            for layer in layers.reversed() { stored = try await layer.stored(stored, after: token, in: zone) }
            let commit = try await inZone(zone) { [self, stored] in try publisher($0).prepare(stored, after: token) }
            for layer in layers { try layer.didPrepare(commit, from: stored) }
            return commit
        }
    }

    /// Publishes a prepared commit if its number is free. Throws `serverRecordChanged` if another commit has the number.
    ///
    /// If the outcome of the last request is unknown, the store reads back: a return means that this commit is there and durable.
    @discardableResult
    package final func publish(_ commit: PreparedCommit) async throws -> ChangeToken {
        try await call(.publish(commit), in: commit.zone, to: .write) { [self] in try publisher($0).publish(commit) }
    }

    /// The list of members as of the newest commit; nil in a zone that is not signed, empty in one without commits.
    package final func members(in zone: ZoneID) async throws -> MemberList? { try await call(.records, in: zone) { try HistoryReader($0).newestMembers() } }

    // MARK: assets

    /// Starts a new asset of a record. Nothing is written before its first byte, and other devices see nothing before
    /// ``AssetWriter/finish(rawByteCount:)``.
    package final func newAsset(for record: String, number: Int, kind: AssetKind, in zone: ZoneID) async throws -> sending any AssetWriter {
        try CloudNames.verify(record, isNameOf: "record")
        guard number > 0 else { throw CloudError(.invalidArguments, at: record, "commits are numbered from 1") }
        let path = AssetPath(record: record, number: number, nonce: nonces.hex(8), kind: kind)
        try await call(.newAsset(record: record), in: zone, to: .write) { try $0.authority.verifySealing(in: $0.history) }
        var writer = store.writer(at: path, in: zone)
        for layer in layers { writer = try layer.writer(writer, for: record, in: zone) }
        return writer
    }

    /// Opens an asset for reading. Throws `pending` if its file has not arrived.
    package final func openAsset(_ asset: CloudAsset, in zone: ZoneID) async throws -> any AssetReader {
        var reader = try await call(.openAsset(asset), in: zone, to: .look) { try $0.store.reader(of: asset, in: zone) }
        try await naming(.openAsset(asset)) { for layer in layers { reader = try await layer.reader(reader, of: asset, in: zone) } }
        return reader
    }

    /// Removes assets that were finished but that no commit will name. An asset that a commit names is kept.
    package final func discard(_ assets: [CloudAsset], in zone: ZoneID) async {
        // An asset that cannot be removed now stays as an orphan. No commit names it, and a later prune removes it.
        try? await call(.discard(assets), in: zone, to: .write) { zone in
            _ = try zone.store.results(of: assets.compactMap { AssetPath($0.path) }.map { path in { try zone.discard(path) } })
        }
    }

    /// Calls `handler` when something may have changed in a zone. The zone need not exist yet. nil if the store reports no events: then a
    /// caller that waits for changes must poll.
    ///
    /// The hints end when the returned source is released. `handler` may be called on any thread.
    public final func events(in zone: ZoneID, _ handler: @escaping @Sendable (ZoneHint) -> Void) -> (any ZoneEventSource)? {
        for layer in layers.reversed() { if let source = layer.events(in: zone, handler) { return source } }
        return store.events(in: zone, handler)
    }

    // MARK: mailbox, reports

    /// Stores a message in its sender's part of the mailbox; it is durable on return. Sending the same message again changes nothing.
    ///
    /// Throws `serverRecordChanged` if another message has its id, `limitExceeded` if it is too large, `clockUnusable` if `clock`,
    /// the sender's, differs by more than a day from the cloud's clock.
    public final func send(_ message: CloudMessage, clock: Instant, in zone: ZoneID) async throws {
        try await watched(.send(message), in: zone) {
            var stored = message
            for layer in layers.reversed() { stored = try await layer.stored(stored, in: zone) }
            try await inZone(zone, to: .write) { [stored] in try $0.send(stored, clock: clock) }
        }
    }

    /// The waiting messages, of one sender or (nil) of all. A message that cannot be read is listed as set aside, and the others are returned normally.
    public final func mailbox(of sender: String? = nil, in zone: ZoneID) async throws -> CloudMailbox {
        var mailbox = try await call(.mailbox, in: zone) { try $0.mailbox(of: sender) }
        try await naming(.mailbox) { for layer in layers { mailbox = try await layer.opened(mailbox, in: zone) } }
        return mailbox
    }

    /// Removes a message. Its sender calls this after the message was answered. Does nothing if the message is gone.
    package final func removeMessage(_ message: CloudMessageName, in zone: ZoneID) async throws {
        try await call(.removeMessage(message), in: zone, to: .write) { try $0.remove(message) }
    }

    /// Stores a report of what a device last applied, unless the device's last report says the same and is less than a day old.
    package final func report(_ report: DeviceReport, in zone: ZoneID) async throws {
        try await call(.report(report), in: zone, to: .write) { try $0.add(report) }
    }

    /// The newest report of each device, sorted by device name.
    package final func deviceReports(in zone: ZoneID) async throws -> [DeviceReport] { try await call(.deviceReports, in: zone) { try $0.newestReports() } }

    /// The newest report of the device of this name; nil if there is none.
    package final func deviceReport(of device: String, in zone: ZoneID) async throws -> DeviceReport? {
        try CloudNames.verify(device, isNameOf: "device")
        return try await call(.deviceReports, in: zone) { try $0.newestReport(of: device) }
    }

    /// The newest reports of devices that request membership, sorted by device name.
    package final func joinRequests(in zone: ZoneID) async throws -> [DeviceReport] { try await call(.deviceReports, in: zone) { try $0.requests() } }

    /// Removes every report of a device, so that it is no longer listed. Does nothing if there is none.
    package final func forgetDevice(_ device: String, in zone: ZoneID) async throws {
        try CloudNames.verify(device, isNameOf: "device")
        try await call(.forgetDevice(device), in: zone, to: .write) { try $0.removeReports(of: device) }
    }

    // MARK: retention

    /// Stores the checkpoint at a kept commit: all live records as of that version.
    ///
    /// It counts once a commit's draft names it. A caller that keeps the checkpoint's hash can read the version even after the commit is
    /// gone.
    package final func placeCheckpoint(at number: Int, in zone: ZoneID) async throws -> CheckpointReference {
        try await call(.placeCheckpoint(number), in: zone, to: .write) { [self] in try publisher($0).placeCheckpoint(at: number) }
    }

    /// All live records as of a checkpoint, verified by its hash. Throws `unknownItem` if the checkpoint does not exist.
    package final func records(in zone: ZoneID, of checkpoint: CheckpointReference) async throws -> ZoneState {
        try await opened(call(.records, in: zone) { try HistoryReader($0).state(of: checkpoint) }, in: zone)
    }

    /// The files of the zone's history and its assets, from a listing; no file is opened.
    package final func storedFiles(in zone: ZoneID) async throws -> [StoredFile] { try await call(.storedFiles, in: zone) { try $0.storedFiles() } }

    /// The store's own clock, which also sets ``StoredFile/modified``.
    package final func storeClock(in zone: ZoneID) async throws -> Instant { try await call(.storeClock, in: zone) { try $0.clock() } }

    /// Removes files of the zone permanently, or none if one of them must stay.
    ///
    /// Commits are removed oldest first and only up to a checkpoint that counts. Files that the newest version names stay. Only a device
    /// that may publish may call this.
    package final func remove(_ files: [StoredFile], by device: String, in zone: ZoneID) async throws {
        try await call(.remove(files), in: zone, to: .write) { [self] in try HistoryPruner($0, found(zone, in: $0.store)).remove(files, by: device) }
    }

    // MARK: copying, on a thread that may block

    /// Opens a zone's history. Throws ``CloudError`` with `.zoneNotFound`.
    package final func store(of zone: ZoneID) throws -> Zone { try store.reopening { _ in try open(zone, to: .write, in: store) } }

    /// Opens an asset. It must have the size that its commit states.
    package final func reader(of asset: CloudAsset, in zone: ZoneID) throws -> any AssetReader {
        try store.reopening { try open(zone, to: .read, in: $0).store.reader(of: asset, in: zone) }
    }

    /// Starts writing an asset at exactly this path.
    package final func writer(at path: AssetPath, in zone: ZoneID) throws -> any AssetWriter {
        _ = try open(zone, to: .write, in: store)
        return store.writer(at: path, in: zone)
    }
}

// Layers.
extension CloudDatabase {
    /// Runs a call between its layers.
    private func watched<T>(_ call: CloudCall, in zone: ZoneID?, _ body: () async throws -> T) async throws -> T {
        try await naming(call) {
            for layer in layers.reversed() { try await layer.willCall(call, in: zone) }
            let result = try await body()
            for layer in layers { try await layer.didCall(call, in: zone) }
            return result
        }
    }

    /// Runs a part of a call, whose errors name the call's step.
    private func naming<T>(_ call: CloudCall, _ body: () async throws -> T) async throws -> T {
        do { return try await body() } catch var error as CloudError {
            error.step = error.step ?? call.step
            throw error
        }
    }

    /// Runs a call in a zone, between its layers.
    private func call<T: Sendable>(_ call: CloudCall, in zone: ZoneID, to access: Access = .read, _ body: @escaping @Sendable (Zone) throws -> T)
        async throws -> T
    {
        try await watched(call, in: zone) { try await inZone(zone, to: access, body) }
    }

    private func opened(_ state: ZoneState, in zone: ZoneID) async throws -> ZoneState {
        ZoneState(records: try await opened(state.records, [], by: .records, in: zone).base, token: state.token, timestamp: state.timestamp)
    }

    /// Passes the records of a checkpoint and of commits through the layers.
    private func opened(_ base: [CloudRecord], _ commits: [Commit], by call: CloudCall, in zone: ZoneID) async throws
        -> (base: [CloudRecord], commits: [Commit])
    {
        guard !layers.isEmpty, !base.isEmpty || !commits.isEmpty else { return (base, commits) }
        var records = base + commits.flatMap(\.saved)
        try await naming(call) { for layer in layers { records = try await layer.opened(records, by: call, in: zone) } }
        var opened = commits, rest = records[base.count...]
        for index in commits.indices {
            opened[index].saved = Array(rest.prefix(commits[index].saved.count))
            rest = rest.dropFirst(commits[index].saved.count)
        }
        return (Array(records[..<base.count]), opened)
    }
}

extension CloudDatabase {
    private func publisher(_ zone: Zone) throws -> HistoryPublisher {
        HistoryPublisher(zone, try found(zone.history.zone, in: zone.store), nonces: nonces)
    }

    /// A zone's marker; nil if there is no such zone.
    private func info(of zone: ZoneID, in store: any ObjectStore) throws -> ZoneInfo? {
        try CloudNames.verify(zone)
        let known = zones.markers.withLock { $0[zone] }
        if let known, !store.isReplicated { return known.info }
        let place = "\(zone)/\(ZoneMarker.fileName)"
        guard let bytes = try store.get(place, limit: CloudMarker.byteLimit) else { return nil }
        if let known, known.bytes == bytes { return known.info }
        let info = try ZoneMarker.info(of: zone, from: bytes, at: place)
        zones.markers.withLock { $0[zone] = (bytes, info) }
        return info
    }

    /// Runs blocking work: a request blocks its thread until the answer arrives, for ever on a mount whose server is gone.
    package func blocking<T: Sendable>(_ body: @escaping @Sendable (any ObjectStore) throws -> T) async throws -> T {
        try await BlockingCalls.run { [store] in try store.reopening(body) }
    }

    private func marker(of zone: ZoneID) -> CloudMarkerReader { zone.scope == .public ? publicMarker : marker }

    /// What a call does in a zone. It determines which markers are read first.
    package enum Access {
        /// Looks for changes in a zone that was read before. No marker is read: the commits name their zone, and the device knows whether
        /// they must be signed.
        case look
        /// Reads the zone. The zone's marker is read first.
        case read
        /// Writes to the zone. The zone's and the cloud's markers are read first.
        case write
    }

    package func inZone<T: Sendable>(_ zone: ZoneID, to access: Access = .read, _ body: @escaping @Sendable (Zone) throws -> T) async throws -> T {
        try await blocking { [self] store in
            do { return try body(open(zone, to: access, in: store)) } catch {
                // A known bucket is opened without a request. It may hold another cloud by now, or none: that error explains more than the body's.
                if access != .write, !store.isReplicated {
                    _ = try marker(of: zone).identity()
                    _ = try open(zone, to: .write, in: store)
                }
                throw error
            }
        }
    }

    private func open(_ zone: ZoneID, to access: Access, in store: any ObjectStore) throws -> Zone {
        try CloudNames.verify(zone)
        let marker = marker(of: zone)
        if access == .write { _ = try marker.identity() }
        var authority = authorities.authority(of: zone), protection = authority.knownProtection
        if access != .look || store.isReplicated {
            let info = try found(zone, in: store)
            (authority, protection) = (try authorities.authority(of: info), info.protection)
        }
        var opened = Zone(history: HistoryID(cloud: try marker.uuid(), zone: zone, protection: protection), store: store, authority: authority)
        opened.mended = mended
        return opened
    }

    private func found(_ zone: ZoneID, in store: any ObjectStore) throws -> ZoneInfo {
        guard let info = try info(of: zone, in: store) else {
            throw CloudError(.zoneNotFound, at: zone.place, "there is no such zone in this location", hint: "run snapsync init on the writer first")
        }
        return info
    }
}
