public import CloudStore
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
// SAFETY (@unchecked Sendable): as its superclass.
public final class DirectoryCloud: CloudDatabase, @unchecked Sendable {
    let files: DirectoryStore
    /// The directory's path, as it was given.
    public var path: String { files.path }

    /// Opens a cloud.
    ///
    /// - Parameters:
    ///   - uuid: the UUID that the cloud must have; nil accepts any.
    ///   - container: the container identifier that it must have; nil accepts any.
    /// - Throws: ``CloudError`` with `.cloudUnavailable` (there is no directory, or no cloud in it although a UUID is expected),
    ///   `.notACloud`, `.badContainer` (another UUID or container), `.incompatibleVersion` or `.permissionFailure`.
    public convenience init(path: String, expecting uuid: String? = nil, container: String? = nil) throws {
        try self.init(path: path, expecting: uuid, container: container, calls: systemFileCalls, nonces: .system)
    }

    /// Opens a cloud with the given system calls and source of random names.
    package convenience init(path: String, expecting uuid: String?, container: String? = nil, calls: any FileSystemCalls, nonces: NonceSource) throws {
        let found = try StaleHandle.reopening { () throws(CloudError) in try CloudRoot.marker(path, calls) }
        guard let identity = found else { throw CloudRoot.missingMarker(path, expected: uuid != nil) }
        if let uuid, uuid != identity.uuid { throw CloudRoot.otherCloud(path, found: identity.uuid, expected: uuid) }
        if let container { try ContainerIdentifier.verify(container, isThatOf: identity) }
        self.init(path: path, identity: identity, calls: calls, files: FileMaker(nonces: nonces))
    }

    private init(path: String, identity: CloudIdentity, calls: any FileSystemCalls, files: FileMaker) {
        self.files = DirectoryStore(path: path, uuid: identity.uuid, calls: calls, files: files)
        super.init(self.files, found: identity, nonces: files.nonces)
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

    /// Creates a cloud with the given system calls and source of random names.
    ///
    /// - Parameters:
    ///   - uuid: the identity of a copy; nil makes a random one.
    ///   - besideOthers: whether the directory may contain other files. Only its owner knows that.
    package static func create(
        at path: String, container: String, uuid: String? = nil, calls: any FileSystemCalls = systemFileCalls, nonces: NonceSource = .system,
        besideOthers: Bool = false
    ) throws -> DirectoryCloud {
        _ = try ContainerIdentifier(container)
        let files = FileMaker(nonces: nonces)
        let made = CloudIdentity(formatVersion: CloudMarker.formatVersion, uuid: uuid ?? nonces.uuid(), container: container)
        let identity = try StaleHandle.reopening { () throws in
            try CloudRoot.create(path, as: made, calls: calls, files: files, besideOthers: besideOthers)
        }
        return DirectoryCloud(path: path, identity: identity, calls: calls, files: files)
    }

    /// Runs blocking work on a zone's folder.
    func inFolder<T: Sendable>(of zone: ZoneID, _ body: @escaping @Sendable (ZoneFolder) throws -> T) async throws -> T {
        try await inZone(zone) { try body(ZoneFolder($0)) }
    }

    /// Runs blocking work on the open directory.
    func inRoot<T: Sendable>(_ body: @escaping @Sendable (CloudFolder) throws -> T) async throws -> T {
        try await blocking { [files] _ in try files.opening { try body($1) } }
    }
}
