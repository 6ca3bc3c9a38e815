public import CloudStore
import DirectoryCloud
import SnapshotModel
public import StrictText

/// Projects that everybody with the cloud can see: shared by their owners, listed, commented on.
///
///     let sharing = try ProjectSharing(directory: "/mnt/share/tracker", device: "anna-phone")
///     try await sharing.publish(draft, owner: "Anna")
///     for project in try await sharing.projects().projects { print(project.title, project.owner) }
///     try await sharing.post("Lovely!", by: "Ben", on: "garden")
///
/// Everything lies in one zone of the cloud's public scope, in which every device may publish. Throws ``CloudError``; wrap it in a
/// ``PresentableError`` to show it. ``SharedProjectList``, ``SharedProjectTracker`` and ``CommentThread`` keep what a screen shows.
public struct ProjectSharing: Sendable {
    /// The zone that is meant when none is named.
    public static let standardZone = "Shared"

    let zone: CloudZone
    let cloud: any RecordDatabase
    let nonces: NonceSource

    /// Shares through any cloud.
    ///
    /// - Parameter device: this device's name, the only one of that name in the zone: what it shares, it alone may replace or remove.
    public init(_ cloud: any RecordDatabase, device: String, zone: String = standardZone, now: @escaping @Sendable () -> Instant = { .now }) {
        self.init(cloud, zone: CloudZone(ZoneID(zone, scope: .public), of: cloud, as: device, now: now), nonces: .system)
    }

    /// Shares through a directory that devices mount.
    ///
    /// - Throws: ``CloudError`` with `.cloudUnavailable`, `.notACloud`, `.incompatibleVersion` or `.permissionFailure`.
    public init(directory: String, device: String, zone: String = standardZone) throws {
        self.init(try DirectoryCloud(path: directory), device: device, zone: zone)
    }

    /// Shares through a zone's handle, with other random names.
    package init(_ cloud: any RecordDatabase, zone: CloudZone, nonces: NonceSource) {
        self.cloud = cloud
        self.zone = zone
        self.nonces = nonces
    }

    /// The device in whose name projects are shared and comments made.
    public var device: String { zone.device }

    /// Whether a project is shared: a look-up by its id that fetches no field.
    ///
    /// - Returns: `.exists` or `.absent`.
    public func status(of id: String) async throws -> SharedProjectStatus {
        try await record(of: id, desiredKeys: []) == nil ? .absent : .exists
    }

    /// A project with its items, all of one publication, whoever replaces it meanwhile.
    ///
    /// - Throws: ``CloudError`` with `.unknownItem` if it is not shared, `.damaged` if items are missing, `.zoneBusy` if it is replaced
    ///   again and again.
    public func contents(of id: String) async throws -> SharedProjectContents {
        for _ in 1...10 {
            guard let record = try await record(of: id) else { throw absent(id) }
            guard let project = SharedProject(record) else { throw unreadable(record) }
            let found = try await zone.records(matching: ShareRecords.items(ofProject: id)).records
            let items = found.filter { $0.text("generation") == project.generation }.compactMap(SharedItem.init)
            if items.count == project.itemCount { return SharedProjectContents(project: project, items: items) }
            // A publication's items are all there before it shows and go only after the next one does: somebody has replaced it just now.
            guard try await self.record(of: id, desiredKeys: [])?.changeTag != record.changeTag else {
                throw CloudError(
                    .damaged, at: place(id), "\(project.itemCount) items belong to the project, \(items.count) of them are there",
                    hint: "share it again on the device \(project.device ?? "that shared it")")
            }
        }
        throw CloudError(
            .zoneBusy, at: place(id), "the project was replaced again and again while it was read", hint: "try again in a moment", isRetryable: true)
    }

    /// The record of a project as it is now; nil if it is not shared, or nothing is yet.
    func record(of id: String, desiredKeys: [String]? = nil) async throws -> CloudRecord? {
        do {
            let record = try await zone.record(ShareRecords.name(ofProject: id), desiredKeys: desiredKeys)
            return record.type == ShareRecords.project ? record : nil
        } catch let error as CloudError where error.code == .unknownItem || error.code == .zoneNotFound {
            return nil
        }
    }

    func absent(_ id: String) -> CloudError {
        CloudError(.unknownItem, at: place(id), "there is no such project", hint: "snapsync share list shows the projects that are shared")
    }

    func unreadable(_ record: CloudRecord) -> CloudError {
        CloudError(
            .incompatibleVersion, at: "\(zone.id)/\(record.name)", "the record is not a project that this version can read",
            hint: "update, or share under another id")
    }

    /// A project in messages; an id that could not be a name is not repeated.
    func place(_ id: String) -> String { "\(zone.id)/\(ShareRecords.name(ofProject: id))" }
}
