package import CloudStore
import DirectoryCloud
import Foundation
package import ObjectCloud
import SnapshotModel
import SnapshotVersions
import StrictText

/// Opens or makes the cloud of a location: a directory, or a bucket as `s3://BUCKET/PREFIX`.
package enum CloudLocation {
    /// Whether a text names a bucket.
    package static func isBucket(_ text: String) -> Bool { BucketLocation.isOne(text) }

    /// Opens an existing cloud.
    ///
    /// - Parameter meter: counts the requests to a bucket.
    /// - Throws: `CloudError`, as the backends do.
    package static func open(
        _ text: String, expecting uuid: String? = nil, container: String? = nil, meter: RequestMeter = RequestMeter()
    ) throws -> CloudDatabase {
        isBucket(text)
            ? try ObjectCloud(location: text, expecting: uuid, container: container, meter: meter)
            : try DirectoryCloud(path: text, expecting: uuid, container: container)
    }

    /// Makes a cloud at an empty place, or opens the existing one. Returns the cloud and whether it was made.
    ///
    /// - Parameter verdict: receives the result of testing a bucket. If it throws, nothing is made there.
    static func create(
        at text: String, container: String, trial verdict: (BucketProbe) throws -> Void
    ) throws -> (cloud: CloudDatabase, isNew: Bool) {
        if isBucket(text) { return try ObjectCloud.create(at: text, container: container, after: verdict) }
        let wasThere = FileManager.default.fileExists(atPath: text + "/cloud.json")
        return (try DirectoryCloud.create(at: text, container: container), !wasThere)
    }

    /// Makes the copy of a cloud at an empty place, or opens the existing cloud. Returns the cloud and whether it was made.
    ///
    /// - Parameter identity: the identity that the copy gets.
    package static func create(at text: String, copyOf identity: CloudIdentity) throws -> (cloud: CloudDatabase, isNew: Bool) {
        if isBucket(text) { return try ObjectCloud.create(at: text, container: identity.container, uuid: identity.uuid) }
        let wasThere = FileManager.default.fileExists(atPath: text + "/cloud.json")
        return (try DirectoryCloud.create(at: text, container: identity.container, uuid: identity.uuid), !wasThere)
    }

    /// Returns the absolute path of a directory.
    static func canonical(_ path: String) -> String { URL(fileURLWithPath: path).standardizedFileURL.path }

    /// Returns the text for the settings: an absolute path, or a bucket with the server and region that were found.
    package static func canonical(_ text: String, _ cloud: CloudDatabase) -> String {
        if let bucket = cloud as? ObjectCloud { return bucket.location }
        return isBucket(text) ? text : canonical(text)
    }
}

/// Tests whether a bucket keeps the promises that publishing needs.
enum BucketTrial {
    /// Tests the bucket if the device publishes. Returns warnings.
    ///
    /// - Throws: ``SyncError`` with `.refused` if several devices are to publish and the store may let two of them publish the same number.
    static func run(in cloud: CloudDatabase, for role: SyncRole, at place: String) async throws -> [String] {
        guard role.publishes, let bucket = cloud as? ObjectCloud else { return [] }
        return try verdict(try await bucket.probe(), for: role, at: place)
    }

    /// Judges a test for a device that publishes. Returns warnings.
    static func verdict(_ probe: BucketProbe, for role: SyncRole, at place: String) throws -> [String] {
        let broken = probe.findings.filter { !$0.isKept }.map(\.observation)
        guard !broken.isEmpty else { return [] }
        guard role != .peer || probe.isSafeForMany else {
            throw SyncError(
                .refused, step: .open, at: place, "several devices cannot publish in this store: \(broken.joined(separator: "; "))",
                hint: "let one device publish (init without --peers; the others join), or use a store with conditional writes")
        }
        return broken.map { "the store does not keep what a location needs: \($0); let this device alone publish" }
    }
}

/// Detects whether a directory belongs to a tool that gives each device its own copy: Syncthing, Dropbox, iCloud Drive.
///
/// In such a folder, nothing prevents two devices from publishing the same number, so only one device may publish there.
package enum ReplicatedFolder {
    /// Returns the tool that replicates a directory or a folder above it, and the evidence; nil if there is none.
    package static func tool(of directory: String) -> (name: String, sign: String)? {
        var folder = URL(fileURLWithPath: directory).resolvingSymlinksInPath()
        while true {
            for marker in markers {
                var isFolder: ObjCBool = false
                let path = folder.appendingPathComponent(marker.file).path
                guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { continue }
                // In a home directory `.dropbox` is a folder of settings. In the replicated folder it is a file.
                if marker.isFolder.map({ $0 == isFolder.boolValue }) ?? true { return (marker.tool, path) }
            }
            if let tool = folderNames[folder.lastPathComponent] { return (tool, folder.path) }
            guard folder.path != "/" else { return nil }
            folder.deleteLastPathComponent()
        }
    }

    /// Refuses a replicated directory if several devices are to publish there.
    ///
    /// A bind mount hides the folders above the mounted one, and with them their markers. The user must then say that the directory is
    /// replicated.
    ///
    /// - Parameter isSaid: whether the user says that a tool replicates the directory.
    /// - Throws: ``SyncError`` with `.refused`.
    static func refuse(_ directory: String, isSaid: Bool) throws {
        let tool = tool(of: directory)
        guard isSaid || tool != nil else { return }
        let found = tool.map { "\($0.name) replicates this folder (\($0.sign))" } ?? "--replicated says that a tool replicates this folder"
        throw SyncError(
            .refused, step: .open, at: directory,
            "\(found): every device has a copy of its own, so two of them could publish the same version",
            hint: "let one device publish here (init without --peers; the others join); peers need one file system that all of them mount")
    }

    private static let markers: [(file: String, tool: String, isFolder: Bool?)] = [
        (".stfolder", "Syncthing", nil), (".dropbox", "Dropbox", false), (".dropbox.cache", "Dropbox", true),
        (".tmp.drivedownload", "Google Drive", nil), (".849C9593-D756-4E56-8D6E-42412F2A707B", "OneDrive", nil),
        (".owncloudsync.log", "ownCloud", false), (".nextcloudsync.log", "Nextcloud", false),
    ]

    private static let folderNames = ["Mobile Documents": "iCloud Drive", "com~apple~CloudDocs": "iCloud Drive", "iCloudDrive": "iCloud Drive"]
}

extension CloudDatabase {
    /// The zone that is meant if none is named: the only one that was not moved to another zone, else `new`, if it is there or none is.
    ///
    /// - Throws: ``SyncError`` with `.refused` if there are several others, ``CloudError`` if the location cannot be read.
    package func zoneName(new: String = ZoneID.main) async throws -> String {
        var names = try await zoneNames()
        if names.count > 1 {
            for name in names {
                do { _ = try await changes(since: nil, in: ZoneID(name)) } catch let error as CloudError where error.successor != nil {
                    names.removeAll { $0 == name }
                } catch {
                    // Whoever works with the zone reports why it cannot be read.
                }
            }
        }
        if let only = names.first, names.count == 1 { return only }
        if names.isEmpty || names.contains(where: { $0.exact == new.exact }) { return new }
        throw SyncError(
            .refused, step: .open, at: location, "it has the zones \(names.joined(separator: ", "))", hint: "choose one with --zone (in the library, zone:)"
        ).asSlip
    }
}
