public import CloudStore
package import CommitLog
import Foundation
import Platform
public import StrictText

/// A cloud in a bucket of an S3-compatible object store.
///
///     let cloud = try ObjectCloud(location: "s3://team-data/app", expecting: uuid)
///
/// The objects have the names and the bytes of a directory cloud's files. The store must offer one thing: to refuse a PUT with
/// `If-None-Match: *` if the key is taken, for any number of concurrent writers. That PUT is the commit point. No object is ever
/// overwritten. Source: docs/object-store.md.
public final class ObjectCloud: CloudDatabase {
    /// The location, as a text that the initialiser accepts.
    public var location: String { client.location.description }
    let client: ObjectClient
    private let marker: CloudMarkerReader
    private let nonces: NonceSource
    private let ends = VerifiedHeadCache()
    package let authorities = ZoneAuthorities()
    private let zones: ZoneCache
    /// A request blocks its thread until the answer arrives, so requests run on these threads.
    private let workers = BlockingCalls(limit: 8, label: "snapsync.bucket")

    /// Opens a cloud.
    ///
    /// With a `uuid` no request is sent: `cloud.json` never changes, and every commit names its cloud. The object is read and compared
    /// before anything is written, and when something that was read before is missing.
    ///
    /// - Parameters:
    ///   - location: `s3://BUCKET/PREFIX`, followed by a `?` and the server and the region if they are not the defaults of AWS.
    ///   - uuid: the UUID that the cloud must have; nil accepts any.
    ///   - container: the container identifier that it must have; nil accepts any.
    /// - Throws: ``CloudError`` with `.cloudUnavailable`, `.notACloud`, `.badContainer`, `.permissionFailure`,
    ///   `.invalidArguments` (the location) or `.incompatibleVersion`.
    public convenience init(location: String, expecting uuid: String? = nil, container: String? = nil) throws {
        try self.init(location: location, expecting: uuid, container: container, meter: RequestMeter())
    }

    /// Opens a cloud, and counts its requests in `meter`.
    package convenience init(location: String, expecting uuid: String?, container: String?, meter: RequestMeter) throws {
        try self.init(client: try Self.client(location, meter: meter), expecting: uuid, container: container)
    }

    /// Opens a cloud with the given client.
    package convenience init(client: ObjectClient, expecting uuid: String?, container: String? = nil, nonces: NonceSource = .system) throws {
        let marker = CloudMarkerReader(client, expecting: uuid, container: container)
        if uuid == nil { _ = try marker.identity() }
        self.init(marker, nonces: nonces)
    }

    private init(_ marker: CloudMarkerReader, nonces: NonceSource) {
        self.client = marker.client
        self.marker = marker
        self.nonces = nonces
        zones = ZoneCache(cloud: { [marker] in marker.knownUUID ?? "" }, now: { [client] in client.clock.microseconds })
    }

    /// Creates a cloud at an empty place of an existing bucket, or opens the cloud that is there.
    ///
    /// - Returns: the cloud, and whether it was created now.
    /// - Throws: ``CloudError`` with `.notACloud` if there are other objects, `.invalidArguments`, and as
    ///   ``init(location:expecting:container:)``.
    public static func create(at location: String, container: String) throws -> (cloud: ObjectCloud, isNew: Bool) {
        try create(client: try client(location), container: container)
    }

    /// Tests a bucket, then creates a cloud there or opens the existing one.
    ///
    /// - Parameter verdict: judges the test's result. If it throws, nothing is created.
    package static func create(
        at location: String, container: String, after verdict: (BucketProbe) throws -> Void
    ) throws -> (cloud: ObjectCloud, isNew: Bool) {
        let client = try client(location)
        return try create(client: client, container: container) { try verdict(BucketProbe(client)) }
    }

    /// Creates the copy of a cloud, or opens the existing cloud.
    ///
    /// - Parameter uuid: the identity of the copy.
    package static func create(at location: String, container: String, uuid: String) throws -> (cloud: ObjectCloud, isNew: Bool) {
        try create(client: try client(location), container: container, uuid: uuid)
    }

    /// Creates a cloud with the given client.
    package static func create(
        client: ObjectClient, container: String, uuid: String? = nil, nonces: NonceSource = .system, trial: () throws -> Void = {}
    ) throws -> (cloud: ObjectCloud, isNew: Bool) {
        _ = try ContainerIdentifier(container)
        if let bytes = try client.get(CloudMarker.fileName, limit: CloudMarker.byteLimit) {
            try trial()
            return (ObjectCloud(CloudMarkerReader(client, found: try CloudMarker.identity(from: bytes)), nonces: nonces), false)
        }
        // A killed test leaves objects of its own, fewer than one page of a listing.
        guard try client.list("", first: 1000).allSatisfy({ BucketProbe.isOwn($0.path) }) else {
            throw CloudError(
                .notACloud, at: client.location.description, "other objects are there, and no cloud",
                hint: "give a prefix that no object has: s3://BUCKET/PREFIX")
        }
        try trial()
        let identity = CloudIdentity(formatVersion: CloudMarker.formatVersion, uuid: uuid ?? nonces.uuid(), container: container)
        if try client.put(CloudMarker.bytes(of: identity), as: CloudMarker.fileName) == .taken {
            return (try ObjectCloud(client: client, expecting: nil, nonces: nonces), false)
        }
        return (ObjectCloud(CloudMarkerReader(client, found: identity), nonces: nonces), true)
    }

    /// Makes the client of a location, with credentials from the environment.
    package static func client(_ text: String, meter: RequestMeter = RequestMeter()) throws -> ObjectClient {
        let chain = CredentialsChain()
        var location = try BucketLocation(text)
        if location.endpoint == nil, let endpoint = chain.endpoint() { location.endpoint = endpoint }
        if location.region == nil { location.region = try chain.region() }
        try location.verifyServer()
        return ObjectClient(location, transport: CurlTransport(certificates: location.certificates), credentials: chain, meter: meter)
    }

    /// The requests and bytes since the cloud was opened, including those for opening it.
    public var usage: RequestUsage { client.usage }

    public func identity() async throws -> CloudIdentity { try await workers.run { [marker] in try marker.identity() } }

    public func createZone(_ zone: ZoneID, creator: String, publishers: PublisherRule) async throws -> ZoneInfo {
        try await createZone(zone, ZoneMarker(creator: creator, publishers: publishers))
    }

    private func createZone(_ zone: ZoneID, _ new: ZoneMarker) async throws -> ZoneInfo {
        try CloudNames.verify(zone)
        try CloudNames.verify(new.creator, isNameOf: "device")
        return try await workers.run { [self] in
            _ = try marker.identity()
            if let found = try info(of: zone) { return found }
            let place = "\(zone)/\(ZoneMarker.fileName)"
            for folder in [CloudNames.commits, CloudNames.checkpoints] {
                guard try client.list("\(zone)/\(folder)/", first: 1).isEmpty else {
                    throw CloudError(
                        .pending, at: place, "the zone has a history, but its zone.json is not there",
                        hint: "if a tool is copying objects, wait for it; else bring the object back from a copy", isRetryable: true)
                }
            }
            _ = try client.put(try new.bytes(), as: place)
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
                let names = try client.listFolder("\(scope.rawValue)/").folders.map { String($0.dropLast()) }.filter(CloudNames.isName)
                return try client.sideBySide(names.map { name in { [self] in try info(of: ZoneID(name, scope: scope)) } }).compactMap(\.self)
            }
        }
    }

    public func changes(since token: ChangeToken?, in zone: ZoneID) async throws -> ZoneChanges {
        try await inZone(zone, to: token == nil ? .read : .look) {
            $0.cache.setPublishing(zone, false)
            let changes = try HistoryReader(source: $0).changes(since: token)
            // The token's commit is there with its hash, so the bucket still holds the same cloud.
            if token != nil {
                $0.cache.prove(zone)
                $0.cache.found(changes.commits.count, in: zone)
            }
            return changes
        }
    }

    /// Returns the commits after `token`, for a device that is about to publish after them. Data that the publish needs as well is requested
    /// in parallel.
    ///
    /// ``publish(_:)`` checks whether the token's commit is still there. This call checks it only if the commit was not seen for half a day.
    /// A run that in the end publishes nothing must call ``changes(since:in:)`` before it reports that nothing is new.
    package func changes(since token: ChangeToken, toPublishIn zone: ZoneID) async throws -> ZoneChanges {
        try await inZone(zone, to: .look) { try $0.lookToPublish(after: token) }
    }

    /// Restores what an earlier run has stored about a zone.
    package func recall(_ memory: ZoneMemory, of zone: ZoneID) { zones.recall(memory, of: zone) }

    /// What the next run should know about a zone.
    package func memory(of zone: ZoneID) -> ZoneMemory { zones.memory(of: zone) }

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
        return ObjectAssetWriter(path, in: opened)
    }

    public func openAsset(_ asset: CloudAsset, in zone: ZoneID) async throws -> any AssetReader {
        try await inZone(zone, to: .look) { try ObjectAssetReader.open(asset, in: $0) }
    }

    public func discard(_ assets: [CloudAsset], in zone: ZoneID) async {
        // An asset that cannot be removed now stays as an orphan. No commit names it, and a later prune removes it.
        try? await inZone(zone, to: .write) { zone in
            _ = try zone.client.sideBySide(assets.compactMap { AssetPath($0.path) }.map { path in { try zone.discard(path) } })
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

    public func storedFiles(in zone: ZoneID) async throws -> [StoredFile] { try await inZone(zone) { try $0.storedFiles() } }

    public func storeClock(in zone: ZoneID) async throws -> Instant { try await inZone(zone) { try $0.clock() } }

    public func remove(_ files: [StoredFile], by device: String, in zone: ZoneID) async throws {
        try await inZone(zone, to: .write) { [self] in try HistoryPruner(store: $0, zone: found(zone)).remove(files, by: device) }
    }
}

extension ObjectCloud {
    private func publisher(_ zone: ObjectZone) throws -> HistoryPublisher<ObjectZone> {
        HistoryPublisher(store: zone, zone: try found(zone.history.zone), nonces: nonces)
    }

    /// A zone's marker, which never changes; nil if there is no such zone.
    private func info(of zone: ZoneID) throws -> ZoneInfo? {
        try CloudNames.verify(zone)
        if let known = zones.info(of: zone) { return known }
        let place = "\(zone)/\(ZoneMarker.fileName)"
        guard let bytes = try client.get(place, limit: CloudMarker.byteLimit) else { return nil }
        let info = try ZoneMarker.info(of: zone, from: bytes, at: place)
        zones.remember(info, bytes)
        return info
    }

    func blocking<T: Sendable>(_ body: @escaping @Sendable (ObjectClient) throws -> T) async throws -> T {
        try await workers.run { [client] in try body(client) }
    }

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

    func inZone<T: Sendable>(_ zone: ZoneID, to access: Access = .read, _ body: @escaping @Sendable (ObjectZone) throws -> T) async throws -> T {
        try await workers.run { [self] in
            do { return try body(open(zone, to: access)) } catch {
                // The place may hold another cloud by now, or none. If so, that error explains more than the one that the body threw.
                if access != .write {
                    _ = try marker.identity()
                    _ = try open(zone, to: .write)
                }
                throw error
            }
        }
    }

    private func open(_ zone: ZoneID, to access: Access) throws -> ObjectZone {
        try CloudNames.verify(zone)
        if access == .write, !zones.isProven(zone) {
            _ = try marker.identity()
            zones.prove(zone)
        }
        var authority = authorities.authority(of: zone), protection = authority.knownProtection
        if access != .look {
            let info = try found(zone)
            (authority, protection) = (try authorities.authority(of: info), info.protection)
        }
        return ObjectZone(
            history: HistoryID(cloud: try marker.uuid(), zone: zone, protection: protection), ends: ends, client: client, authority: authority,
            cache: zones)
    }

    private func found(_ zone: ZoneID) throws -> ZoneInfo {
        guard let info = try info(of: zone) else {
            throw CloudError(.zoneNotFound, at: "\(zone)", "there is no such zone in this cloud", hint: "run snapsync init on the writer first")
        }
        return info
    }
}

extension ObjectCloud: SigningCloud {
    package func createSignedZone(_ zone: ZoneID, creator: String, publishers: PublisherRule, protection: ZoneProtection) async throws -> ZoneInfo {
        try await createZone(zone, ZoneMarker(creator: creator, publishers: publishers, protection: protection))
    }

    package func members(in zone: ZoneID) async throws -> MemberList? { try await inZone(zone) { try HistoryReader(source: $0).newestMembers() } }

    package func joinRequests(in zone: ZoneID) async throws -> [DeviceReport] { try await inZone(zone) { try $0.requests() } }
}

extension ObjectCloud: MirroredCloud {
    package func store(of zone: ZoneID) throws -> any HistoryStore { try open(zone, to: .write) }
    package func reader(of asset: CloudAsset, in zone: ZoneID) throws -> any AssetReader { try ObjectAssetReader.open(asset, in: open(zone, to: .read)) }
    package func writer(at path: AssetPath, in zone: ZoneID) throws -> any AssetWriter { ObjectAssetWriter(path, in: try open(zone, to: .write)) }
}
