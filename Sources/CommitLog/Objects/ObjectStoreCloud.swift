public import CloudStore
import Platform
public import StrictText
import Synchronization

/// A cloud in an ``ObjectStore``, with the whole contract of a ``CloudDatabase``, including signed and sealed zones.
///
///     let cloud = try await ObjectStoreCloud.create(in: MyStore(), container: "iCloud.org.example.board")
///     let engine = try SyncEngine(database: path, cloud: cloud)
///
/// The objects have the names and the bytes of a directory cloud's files. The store must offer one thing: to store an object only if its
/// path is free, for any number of concurrent writers. That put is the commit point. No object is ever overwritten.
public final class ObjectStoreCloud: CloudDatabase {
    package let store: any ObjectStore
    private let marker: CloudMarkerReader
    /// The marker of public zones. It differs from `marker` if the store keeps public zones apart from a user's private ones.
    private let publicMarker: CloudMarkerReader
    private let nonces: NonceSource
    private let ends = VerifiedHeadCache()
    package let authorities = ZoneAuthorities()
    /// The markers that were read. They never change.
    private let zones = Mutex<[ZoneID: ZoneInfo]>([:])
    /// A request blocks its thread until the answer arrives, so requests run on these threads.
    private let workers: BlockingCalls

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
        words: PlaceWords = PlaceWords()
    ) {
        self.store = store
        let path = store.markerPath(of: .private)
        marker =
            found.map { CloudMarkerReader(store, at: path, found: $0) }
            ?? CloudMarkerReader(store, at: path, expecting: uuid, container: container, words: words)
        let publicPath = store.markerPath(of: .public)
        publicMarker = publicPath == path ? marker : CloudMarkerReader(store, at: publicPath, expecting: nil, container: container, words: words)
        self.nonces = nonces
        workers = BlockingCalls(limit: 8)
    }

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
    public static func create(in store: any ObjectStore, container: String) async throws -> ObjectStoreCloud {
        _ = try ContainerIdentifier(container)
        let made = try await ObjectStoreCloud(store).blocking {
            try makeMarker(in: store, container: container) {
                guard try store.list("", first: 1).isEmpty else { throw CloudError(.notACloud, at: store.place, "other objects are there, and no cloud") }
            }
        }
        try ContainerIdentifier.verify(container, isThatOf: made.identity)
        return ObjectStoreCloud(store, found: made.identity)
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
    package func openedIdentity() throws -> CloudIdentity { try marker.identity() }

    public func identity() async throws -> CloudIdentity { try await workers.run { [marker] in try marker.identity() } }

    public func createZone(_ zone: ZoneID, creator: String, publishers: PublisherRule) async throws -> ZoneInfo {
        try await createZone(zone, ZoneMarker(creator: creator, publishers: publishers))
    }

    private func createZone(_ zone: ZoneID, _ new: ZoneMarker) async throws -> ZoneInfo {
        try CloudNames.verify(zone)
        try CloudNames.verify(new.creator, isNameOf: "device")
        return try await workers.run { [self] in
            let identity = try marker.identity()
            if zone.scope == .public, publicMarker !== marker {
                _ = try Self.makeMarker(in: store, for: .public, container: identity.container, nonces: nonces)
            }
            if let found = try info(of: zone) { return found }
            let place = "\(zone)/\(ZoneMarker.fileName)"
            for folder in [CloudNames.commits, CloudNames.checkpoints] {
                guard try store.list("\(zone)/\(folder)/", first: 1).isEmpty else {
                    throw CloudError(
                        .pending, at: place, "the zone has a history, but its zone.json is not there",
                        hint: "if a tool is copying objects, wait for it; else bring the object back from a copy", isRetryable: true)
                }
            }
            _ = try store.put(try new.bytes(), as: place)
            guard let info = try info(of: zone) else {
                throw CloudError(.inputOutput, at: place, "the object vanished as soon as it was made", isRetryable: true)
            }
            return info
        }
    }

    public func zone(_ zone: ZoneID) async throws -> ZoneInfo { try await inZone(zone) { [self] _ in try found(zone) } }

    public func zones() async throws -> [ZoneInfo] {
        try await workers.run { [self] in
            _ = try marker.identity()
            return try CloudScope.allCases.flatMap { scope in
                let names = try store.zoneNames(in: scope).filter(CloudNames.isName).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
                return try store.results(of: names.map { name in { [self] in try info(of: ZoneID(name, scope: scope)) } }).compactMap(\.self)
            }
        }
    }

    public func changes(since token: ChangeToken?, in zone: ZoneID) async throws -> ZoneChanges {
        try await inZone(zone, to: token == nil ? .read : .look) { try HistoryReader(source: $0).changes(since: token) }
    }

    public func records(in zone: ZoneID, at number: Int?, notBefore token: ChangeToken?) async throws -> ZoneState {
        try await inZone(zone) { try HistoryReader(source: $0).state(at: number, notBefore: token) }
    }

    public func history(in zone: ZoneID) async throws -> [Commit] { try await inZone(zone) { try HistoryReader(source: $0).all() } }

    public func commits(upTo token: ChangeToken, count: Int, in zone: ZoneID) async throws -> [Commit] {
        try await inZone(zone, to: .look) { try HistoryReader(source: $0).commits(upTo: token, count: count) }
    }

    public func prepare(_ draft: CommitDraft, after token: ChangeToken?, in zone: ZoneID) async throws -> PreparedCommit {
        try await inZone(zone) { [self] in try publisher($0).prepare(draft, after: token) }
    }

    public func publish(_ commit: PreparedCommit) async throws -> ChangeToken {
        try await inZone(commit.zone, to: .write) { [self] in try publisher($0).publish(commit) }
    }

    public func newAsset(for record: String, number: Int, kind: AssetKind, in zone: ZoneID) async throws -> sending any AssetWriter {
        try CloudNames.verify(record, isNameOf: "record")
        guard number > 0 else { throw CloudError(.invalidArguments, at: record, "commits are numbered from 1") }
        let path = AssetPath(record: record, number: number, nonce: nonces.hex(8), kind: kind)
        let opened = try await inZone(zone, to: .write) { $0 }
        try opened.authority.verifySealing(in: opened.history)
        return store.writer(at: path, in: zone)
    }

    public func openAsset(_ asset: CloudAsset, in zone: ZoneID) async throws -> any AssetReader {
        try await inZone(zone, to: .look) { [store] _ in try store.reader(of: asset, in: zone) }
    }

    public func discard(_ assets: [CloudAsset], in zone: ZoneID) async {
        // An asset that cannot be removed now stays as an orphan. No commit names it, and a later prune removes it.
        try? await inZone(zone, to: .write) { zone in
            _ = try zone.store.results(of: assets.compactMap { AssetPath($0.path) }.map { path in { try zone.discard(path) } })
        }
    }

    public func report(_ report: DeviceReport, in zone: ZoneID) async throws {
        try await inZone(zone, to: .write) { try $0.add(report) }
    }

    public func deviceReport(of device: String, in zone: ZoneID) async throws -> DeviceReport? {
        try CloudNames.verify(device, isNameOf: "device")
        return try await inZone(zone) { try $0.newestReport(of: device) }
    }

    public func forgetDevice(_ device: String, in zone: ZoneID) async throws {
        try CloudNames.verify(device, isNameOf: "device")
        try await inZone(zone, to: .write) { try $0.removeReports(of: device) }
    }

    public func deviceReports(in zone: ZoneID) async throws -> [DeviceReport] { try await inZone(zone) { try $0.newestReports() } }

    public func send(_ message: CloudMessage, clock: Instant, in zone: ZoneID) async throws {
        try await inZone(zone, to: .write) { try $0.send(message, clock: clock) }
    }

    public func mailbox(_ request: MailboxRequest, in zone: ZoneID) async throws -> CloudMailbox {
        try await inZone(zone) { try $0.mailbox(request) }
    }

    public func removeMessage(_ message: CloudMessageName, in zone: ZoneID) async throws {
        try await inZone(zone, to: .write) { try $0.remove(message) }
    }

    public func placeCheckpoint(at number: Int, in zone: ZoneID) async throws -> CheckpointReference {
        try await inZone(zone, to: .write) { [self] in try publisher($0).placeCheckpoint(at: number) }
    }

    public func records(in zone: ZoneID, of checkpoint: CheckpointReference) async throws -> ZoneState {
        try await inZone(zone) { try HistoryReader(source: $0).state(of: checkpoint) }
    }

    public func publishQueue(in zone: ZoneID) async throws -> [PublishTicket] { try await inZone(zone) { try $0.tickets() } }

    public func enqueue(_ ticket: PublishTicket, in zone: ZoneID) async throws { try await inZone(zone, to: .write) { try $0.add(ticket) } }

    public func dequeue(_ ticket: PublishTicket, in zone: ZoneID) async throws { try await inZone(zone, to: .write) { try $0.remove(ticket) } }

    public func storedFiles(in zone: ZoneID) async throws -> [StoredFile] { try await inZone(zone) { try $0.storedFiles() } }

    public func storeClock(in zone: ZoneID) async throws -> Instant { try await inZone(zone) { try $0.clock() } }

    public func remove(_ files: [StoredFile], by device: String, in zone: ZoneID) async throws {
        try await inZone(zone, to: .write) { [self] in try HistoryPruner(store: $0, zone: found(zone)).remove(files, by: device) }
    }
}

extension ObjectStoreCloud {
    private func publisher(_ zone: ObjectZone) throws -> HistoryPublisher<ObjectZone> {
        HistoryPublisher(store: zone, zone: try found(zone.history.zone), nonces: nonces)
    }

    /// A zone's marker, which never changes; nil if there is no such zone.
    private func info(of zone: ZoneID) throws -> ZoneInfo? {
        try CloudNames.verify(zone)
        if let known = zones.withLock({ $0[zone] }) { return known }
        let place = "\(zone)/\(ZoneMarker.fileName)"
        guard let bytes = try store.get(place, limit: CloudMarker.byteLimit) else { return nil }
        let info = try ZoneMarker.info(of: zone, from: bytes, at: place)
        zones.withLock { $0[zone] = info }
        return info
    }

    /// Runs blocking work on the cloud's threads.
    package func blocking<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T { try await workers.run(body) }

    private func marker(of zone: ZoneID) -> CloudMarkerReader { zone.scope == .public ? publicMarker : marker }

    /// What a call does in a zone. It determines which markers are read first.
    enum Access {
        /// Looks for changes in a zone that was read before. No marker is read: the commits name their zone, and the device knows whether
        /// they must be signed.
        case look
        /// Reads the zone. The zone's marker is read first.
        case read
        /// Writes to the zone. The zone's and the cloud's markers are read first.
        case write
    }

    private func inZone<T: Sendable>(_ zone: ZoneID, to access: Access = .read, _ body: @escaping @Sendable (ObjectZone) throws -> T) async throws -> T {
        try await workers.run { [self] in
            do { return try body(open(zone, to: access)) } catch {
                // The place may hold another cloud by now, or none. If so, that error explains more than the one that the body threw.
                if access != .write {
                    _ = try marker(of: zone).identity()
                    _ = try open(zone, to: .write)
                }
                throw error
            }
        }
    }

    private func open(_ zone: ZoneID, to access: Access) throws -> ObjectZone {
        try CloudNames.verify(zone)
        let marker = marker(of: zone)
        if access == .write { _ = try marker.identity() }
        var authority = authorities.authority(of: zone), protection = authority.knownProtection
        if access != .look {
            let info = try found(zone)
            (authority, protection) = (try authorities.authority(of: info), info.protection)
        }
        return ObjectZone(
            history: HistoryID(cloud: try marker.uuid(), zone: zone, protection: protection), ends: ends, store: store, authority: authority)
    }

    private func found(_ zone: ZoneID) throws -> ZoneInfo {
        guard let info = try info(of: zone) else {
            throw CloudError(.zoneNotFound, at: "\(zone)", "there is no such zone in this cloud", hint: "run snapsync init on the writer first")
        }
        return info
    }
}

extension ObjectStoreCloud: SigningCloud {
    package func createSignedZone(_ zone: ZoneID, creator: String, publishers: PublisherRule, protection: ZoneProtection) async throws -> ZoneInfo {
        try await createZone(zone, ZoneMarker(creator: creator, publishers: publishers, protection: protection))
    }

    package func members(in zone: ZoneID) async throws -> MemberList? { try await inZone(zone) { try HistoryReader(source: $0).newestMembers() } }

    package func joinRequests(in zone: ZoneID) async throws -> [DeviceReport] { try await inZone(zone) { try $0.requests() } }
}

extension ObjectStoreCloud: MirroredCloud {
    package var location: String { store.place }
    package func store(of zone: ZoneID) throws -> any HistoryStore { try open(zone, to: .write) }
    package func reader(of asset: CloudAsset, in zone: ZoneID) throws -> any AssetReader {
        _ = try open(zone, to: .read)
        return try store.reader(of: asset, in: zone)
    }
    package func writer(at path: AssetPath, in zone: ZoneID) throws -> any AssetWriter {
        _ = try open(zone, to: .write)
        return store.writer(at: path, in: zone)
    }
}

/// A public cloud that wraps an ``ObjectStoreCloud`` and forwards signing and copying to it.
package protocol ObjectBackedCloud: CloudDatabaseDecorator, SigningCloud, MirroredCloud {
    var base: ObjectStoreCloud { get }
}

extension ObjectBackedCloud {
    package var authorities: ZoneAuthorities { base.authorities }
    package func createSignedZone(_ zone: ZoneID, creator: String, publishers: PublisherRule, protection: ZoneProtection) async throws -> ZoneInfo {
        try await base.createSignedZone(zone, creator: creator, publishers: publishers, protection: protection)
    }
    package func members(in zone: ZoneID) async throws -> MemberList? { try await base.members(in: zone) }
    package func joinRequests(in zone: ZoneID) async throws -> [DeviceReport] { try await base.joinRequests(in: zone) }

    package func store(of zone: ZoneID) throws -> any HistoryStore { try base.store(of: zone) }
    package func reader(of asset: CloudAsset, in zone: ZoneID) throws -> any AssetReader { try base.reader(of: asset, in: zone) }
    package func writer(at path: AssetPath, in zone: ZoneID) throws -> any AssetWriter { try base.writer(at: path, in: zone) }
}
