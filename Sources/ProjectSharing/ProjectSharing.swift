public import CloudStore
public import RecordZones
import DirectoryCloud
package import SnapshotEngine
import SnapshotModel
public import StrictText

/// Shared projects: their owners share them, and everybody with access to the cloud can list them and comment on them.
///
///     let sharing = try ProjectSharing(directory: "/mnt/share/tracker", device: "anna-phone")
///     try await sharing.publish(draft, owner: "Anna")
///     for project in try await sharing.projects().projects { print(project.title, project.owner) }
///     try await sharing.post("Lovely!", by: "Ben", on: "garden")
///
/// Everything is in one zone of the cloud's public scope, in which every device may publish. Throws ``CloudError``; make a
/// ``PresentableError`` of it to show it. ``SharedProjectList``, ``SharedProjectTracker`` and ``CommentThread`` hold the values for a
/// screen.
public struct ProjectSharing: Sendable {
    /// The zone that is used if none is named.
    public static let standardZone = "Shared"

    let zone: CloudZone
    let cloud: CloudDatabase
    let nonces: NonceSource
    /// The members of the zone; nil if it is not signed.
    let signedMembers: SharedZoneMembers?

    /// Shares through any cloud.
    ///
    /// - Parameter device: this device's name, unique in the zone. Only this device may replace or remove what it has shared.
    public init(_ cloud: CloudDatabase, device: String, zone: String = standardZone, now: @escaping @Sendable () -> Instant = { .now }) {
        self.init(cloud, zone: CloudZone(ZoneID(zone, scope: .public), of: cloud, as: device, now: now), nonces: .system)
    }

    /// Shares through a directory that devices mount.
    ///
    /// - Throws: ``CloudError`` with `.cloudUnavailable`, `.notACloud`, `.incompatibleVersion` or `.permissionFailure`.
    public init(directory: String, device: String, zone: String = standardZone) throws {
        self.init(try DirectoryCloud(path: directory), device: device, zone: zone)
    }

    /// Makes a value with a given zone handle and source of random names.
    package init(_ cloud: CloudDatabase, zone: CloudZone, nonces: NonceSource, members: SharedZoneMembers? = nil) {
        signedMembers = members
        self.cloud = cloud
        self.zone = zone
        self.nonces = nonces
    }

    /// The device in whose name projects are shared and comments are posted.
    public var device: String { zone.device }

    /// Whether a project is shared. Looks it up by its id without fetching a field.
    ///
    /// - Returns: `.exists` or `.absent`.
    public func status(of id: String) async throws -> SharedProjectStatus {
        try await record(of: id, desiredKeys: []) == nil ? .absent : .exists
    }

    /// Returns a project with its items. All are from the same publication, even if the project is replaced meanwhile.
    ///
    /// - Throws: ``CloudError`` with `.unknownItem` if it is not shared, `.damaged` if items are missing, `.zoneBusy` if it was replaced
    ///   several times while it was read.
    public func contents(of id: String) async throws -> SharedProjectContents {
        for _ in 1...10 {
            guard let record = try await record(of: id) else { throw absent(id) }
            guard let project = SharedProject(record) else { throw unreadable(record) }
            let found = try await zone.records(matching: ShareRecords.items(ofProject: id)).records
            let items = found.filter { $0.text("generation") == project.generation }.compactMap(SharedItem.init)
            if items.count == project.itemCount { return SharedProjectContents(project: project, items: items) }
            // A publication's items are saved before it becomes visible, and deleted only after the next one is. So either the project was
            // just replaced, or items are missing.
            guard try await self.record(of: id, desiredKeys: [])?.changeTag != record.changeTag else {
                throw CloudError(
                    .damaged, at: place(id), "\(project.itemCount) items belong to the project, \(items.count) of them are there",
                    hint: "share it again on the device \(project.device ?? "that shared it")")
            }
        }
        throw CloudError(
            .zoneBusy, at: place(id), "the project was replaced again and again while it was read", hint: "try again in a moment", isRetryable: true)
    }

    /// Returns the present record of a project; nil if it is not shared, or the zone does not exist yet.
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

    /// The place of a project in error messages. An id outside the grammar of names is replaced by its hash.
    func place(_ id: String) -> String { "\(zone.id)/\(ShareRecords.name(ofProject: id))" }
}
