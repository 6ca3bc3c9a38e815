public import CloudStore
package import CommitLog
import Foundation
import Platform
import StrictText

/// A cloud in a directory that devices share: on a local disk, on NFS, or in a folder that a tool replicates.
///
///     let cloud = try DirectoryCloud.create(at: "/mnt/share/app", container: "iCloud.org.example.app")
///     let cloud = try DirectoryCloud(path: "/mnt/share/app", expecting: uuid)
///
/// There is no server and no lock: the device that links the file of a commit's number first has published that commit. Every operation
/// opens the directory again and checks that `cloud.json` still has the same UUID. If the directory is unmounted or swapped, nothing in it
/// is changed. Source: docs/cloud-directory.md.
public final class DirectoryCloud: CloudDatabase {
    /// The directory's path, as it was given.
    public let path: String
    private let opened: CloudIdentity
    private let calls: any FileSystemCalls
    let files: FileMaker
    private let ends = VerifiedHeadCache()
    package let authorities = ZoneAuthorities()
    private let cloudMarker = ParsedMarker<CloudIdentity>()
    private let zoneMarker = ParsedMarker<ZoneInfo>()
    /// A disk blocks its thread, and a mount whose server is gone may block for ever, so all calls run on these threads.
    private let workers = BlockingCalls(limit: DirectoryCloud.threadLimit)
    /// How many threads of the process one cloud's calls may block at a time. Dispatch has 64 in total.
    package static let threadLimit = 8

    /// Opens a cloud.
    ///
    /// - Parameters:
    ///   - uuid: the UUID that the cloud must have; nil accepts any.
    ///   - container: the container identifier that it must have; nil accepts any.
    /// - Throws: ``CloudError`` with `.cloudUnavailable` (there is no directory, or no cloud in it although a UUID is expected),
    ///   `.notACloud`, `.badContainer` (another UUID or container), `.incompatibleVersion` or `.permissionFailure`.
    public convenience init(path: String, expecting uuid: String? = nil, container: String? = nil) throws {
        try self.init(path: path, expecting: uuid, calls: systemFileCalls, nonces: .system)
        if let container { try ContainerIdentifier.verify(container, isThatOf: opened) }
    }

    /// Opens a cloud with the given system calls and source of random names.
    package convenience init(path: String, expecting uuid: String?, calls: any FileSystemCalls, nonces: NonceSource) throws {
        let files = FileMaker(nonces: nonces)
        let found = try StaleHandle.reopening { () throws(CloudError) in
            try CloudRoot.reading(path, calls) { root throws(CloudError) in try CloudMarker.read(in: root) }
        }
        guard let identity = found else { throw CloudRoot.missingMarker(path, expected: uuid != nil) }
        if let uuid, uuid != identity.uuid { throw CloudRoot.otherCloud(path, found: identity.uuid, expected: uuid) }
        self.init(path: path, opened: identity, calls: calls, files: files)
    }

    private init(path: String, opened: CloudIdentity, calls: any FileSystemCalls, files: FileMaker) {
        self.path = path
        self.opened = opened
        self.calls = calls
        self.files = files
    }

    /// Makes an empty directory a cloud, or opens the cloud that is there. Creates the last part of the path if it is missing.
    ///
    /// An existing directory keeps its mode; a new one is for its owner alone.
    ///
    /// - Parameter container: `iCloud.` and the application's reverse-DNS name.
    /// - Throws: ``CloudError`` with `.notACloud` if there are other files, `.invalidArguments`, `.cloudUnavailable` if even the directory
    ///   above is missing, and as ``init(path:expecting:)``.
    public static func create(at path: String, container: String) throws -> DirectoryCloud {
        try create(at: path, container: container, besideOthers: false)
    }

    /// The same, and sets who besides its owner may use the directory, even if it is already a cloud.
    ///
    /// - Throws: also ``CloudError`` with `.permissionFailure` if the directory belongs to another user.
    public static func create(at path: String, container: String, sharing: DirectorySharing) throws -> DirectoryCloud {
        try create(at: path, container: container, besideOthers: false, sharing: sharing)
    }

    /// Creates a cloud with the given system calls and source of random names.
    ///
    /// - Parameters:
    ///   - uuid: the identity of a copy; nil makes a random one.
    ///   - besideOthers: whether the directory may contain other files. Only its owner knows that.
    package static func create(
        at path: String, container: String, uuid: String? = nil, calls: any FileSystemCalls = systemFileCalls, nonces: NonceSource = .system,
        besideOthers: Bool = false, sharing: DirectorySharing? = nil
    ) throws -> DirectoryCloud {
        _ = try ContainerIdentifier(container)
        let files = FileMaker(nonces: nonces)
        let made = CloudIdentity(formatVersion: CloudMarker.formatVersion, uuid: uuid ?? nonces.uuid(), container: container)
        let identity = try StaleHandle.reopening { () throws in
            try CloudRoot.create(path, made, calls, files, besideOthers: besideOthers, sharing: sharing)
        }
        return DirectoryCloud(path: path, opened: identity, calls: calls, files: files)
    }

    public func identity() async throws -> CloudIdentity {
        try await offThread { _ in self.opened }
    }

    public func createZone(_ zone: ZoneID, creator: String, publishers: PublisherRule) async throws -> ZoneInfo {
        try await createZone(zone, ZoneMarker(creator: creator, publishers: publishers))
    }

    private func createZone(_ zone: ZoneID, _ marker: ZoneMarker) async throws -> ZoneInfo {
        try CloudNames.verify(zone)
        try CloudNames.verify(marker.creator, isNameOf: "device")
        return try await offThread { root in try ZoneSetup(root: root, files: self.files).create(zone, marker) }
    }

    public func zone(_ zone: ZoneID) async throws -> ZoneInfo {
        try await inZone(zone) { $0.info }
    }

    public func zones() async throws -> [ZoneInfo] {
        try await offThread { root in try ZoneSetup(root: root, files: self.files).zones() }
    }

    public func changes(since token: ChangeToken?, in zone: ZoneID) async throws -> ZoneChanges {
        try await inZone(zone) { try HistoryReader(source: $0).changes(since: token) }
    }

    public func records(in zone: ZoneID, at number: Int?, notBefore token: ChangeToken?) async throws -> ZoneState {
        try await inZone(zone) { try HistoryReader(source: $0).state(at: number, notBefore: token) }
    }

    public func history(in zone: ZoneID) async throws -> [Commit] {
        try await inZone(zone) { try HistoryReader(source: $0).all() }
    }

    public func conflictCopies(in zone: ZoneID) async throws -> [ConflictCopy] {
        try await inZone(zone) { try $0.conflictCopies() }
    }

    public func commits(upTo token: ChangeToken, count: Int, in zone: ZoneID) async throws -> [Commit] {
        try await inZone(zone) { try HistoryReader(source: $0).commits(upTo: token, count: count) }
    }

    public func prepare(_ draft: CommitDraft, after token: ChangeToken?, in zone: ZoneID) async throws -> PreparedCommit {
        try await inZone(zone) { try self.publisher($0).prepare(draft, after: token) }
    }

    public func publish(_ commit: PreparedCommit) async throws -> ChangeToken {
        try await inZone(commit.zone) { try self.publisher($0).publish(commit) }
    }

    public func newAsset(
        for record: String, number: Int, kind: AssetKind, in zone: ZoneID
    ) async throws -> sending any AssetWriter {
        try CloudNames.verify(record, isNameOf: "record")
        guard number > 0 else { throw CloudError(.invalidArguments, at: record, "commits are numbered from 1") }
        // This runs on the caller's thread: it is short, and the writer belongs to the caller alone.
        let path = AssetPath(record: record, number: number, nonce: files.nonces.hex(8), kind: kind)
        let folder = { [self] in try zoneFolder(zone, in: try openRoot()) }
        let opened = try StaleHandle.reopening { () throws in try folder() }
        try opened.authority.verifySealing(in: opened.history)
        return DirectoryAssetWriter(path, in: folder)
    }

    public func openAsset(_ asset: CloudAsset, in zone: ZoneID) async throws -> any AssetReader {
        try await inZone(zone) { [self] in try reader(of: asset, in: zone, $0) }
    }

    private func reader(of asset: CloudAsset, in zone: ZoneID, _ folder: ZoneFolder) throws -> DirectoryAssetReader {
        try DirectoryAssetReader(asset, in: folder.folder) { [self] in try zoneFolder(zone, in: try openRoot()).folder }
    }

    public func discard(_ assets: [CloudAsset], in zone: ZoneID) async {
        // An asset that cannot be removed now stays as an orphan. No commit names it, and a later prune removes it.
        try? await inZone(zone) { folder in
            for path in assets.compactMap({ AssetPath($0.path) }) { try folder.discard(path) }
        }
    }

    /// Reports the file system's events. They are incomplete if other machines write to it too.
    public func events(in zone: ZoneID, _ handler: @escaping @Sendable (ZoneHint) -> Void) -> (any ZoneEventSource)? {
        ZoneEvents(cloud: path, zone: zone, handler)
    }

    public func report(_ report: DeviceReport, in zone: ZoneID) async throws {
        try await inZone(zone) { try ReportFolder(zone: $0).add(report) }
    }

    public func deviceReport(of device: String, in zone: ZoneID) async throws -> DeviceReport? {
        try CloudNames.verify(device, isNameOf: "device")
        return try await inZone(zone) { try ReportFolder(zone: $0).newest(of: device) }
    }

    public func forgetDevice(_ device: String, in zone: ZoneID) async throws {
        try CloudNames.verify(device, isNameOf: "device")
        try await inZone(zone) { try ReportFolder(zone: $0).removeAll(of: device) }
    }

    public func deviceReports(in zone: ZoneID) async throws -> [DeviceReport] {
        try await inZone(zone) { try ReportFolder(zone: $0).newestOfEachDevice() }
    }
}

extension DirectoryCloud {
    func publisher(_ folder: ZoneFolder) -> HistoryPublisher<ZoneFolder> {
        HistoryPublisher(store: folder, zone: folder.info, nonces: files.nonces)
    }

    private func inRoot<T>(_ body: (CloudFolder) throws -> T) throws -> T {
        do {
            return try body(try openRoot())
        } catch let error as CloudError where error.code == .damaged {
            // A sync tool that writes in place causes the same error for a while.
            throw (try? CloudRoot.open(path, calls)).flatMap { ArrivingFile.error(insteadOf: error, in: $0) } ?? error
        }
    }

    private func openRoot() throws -> CloudFolder {
        let root = try CloudRoot.open(path, calls)
        guard let found = try CloudMarker.read(in: root, cloudMarker) else { throw CloudRoot.missingMarker(path, expected: true) }
        guard found.uuid == opened.uuid else { throw CloudRoot.otherCloud(path, found: found.uuid, expected: opened.uuid) }
        return root
    }

    func zoneFolder(_ zone: ZoneID, in root: CloudFolder) throws -> ZoneFolder {
        try CloudNames.verify(zone)
        guard let folder = try root.folder(zone.description), let info = try ZoneMarker.read(zone, in: folder, zoneMarker) else {
            throw CloudError(.zoneNotFound, at: "\(zone)", "there is no such zone in this cloud", hint: "run snapsync init on the writer first")
        }
        return ZoneFolder(
            history: HistoryID(cloud: opened.uuid, zone: zone, protection: info.protection), ends: ends, info: info, folder: folder,
            files: files,
            authority: try authorities.authority(of: info))
    }

    func inZone<T: Sendable>(_ zone: ZoneID, _ body: @escaping @Sendable (ZoneFolder) throws -> T) async throws -> T {
        try await offThread { root in try body(try self.zoneFolder(zone, in: root)) }
    }

    func offThread<T: Sendable>(_ body: @escaping @Sendable (CloudFolder) throws -> T) async throws -> T {
        try await workers.run { try StaleHandle.reopening { () throws in try self.inRoot(body) } }
    }
}

extension DirectoryCloud: SigningCloud {
    package func createSignedZone(_ zone: ZoneID, creator: String, publishers: PublisherRule, protection: ZoneProtection) async throws -> ZoneInfo {
        try await createZone(zone, ZoneMarker(creator: creator, publishers: publishers, protection: protection))
    }

    package func members(in zone: ZoneID) async throws -> MemberList? { try await inZone(zone) { try HistoryReader(source: $0).newestMembers() } }

    package func joinRequests(in zone: ZoneID) async throws -> [DeviceReport] { try await inZone(zone) { try ReportFolder(zone: $0).requests() } }
}

extension DirectoryCloud: MirroredCloud {
    package var location: String { path }
    package func store(of zone: ZoneID) throws -> any HistoryStore { try StaleHandle.reopening { () throws in try inRoot { try zoneFolder(zone, in: $0) } } }
    package func reader(of asset: CloudAsset, in zone: ZoneID) throws -> any AssetReader {
        try StaleHandle.reopening { () throws in try inRoot { try reader(of: asset, in: zone, zoneFolder(zone, in: $0)) } }
    }
    package func writer(at path: AssetPath, in zone: ZoneID) throws -> any AssetWriter {
        DirectoryAssetWriter(path) { [self] in try zoneFolder(zone, in: try openRoot()) }
    }
}
