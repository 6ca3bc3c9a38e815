package import CloudStore
import DirectoryCloud
import Foundation
package import ObjectCloud
import SnapshotModel
import SnapshotVersions

/// Opens or makes the cloud that `--cloud` names: a directory, or a bucket as `s3://BUCKET/PREFIX`.
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
    /// - Parameters:
    ///   - sharing: the users besides the owner who may use a directory.
    ///   - verdict: receives the result of testing a bucket. If it throws, nothing is made there.
    static func create(
        at text: String, container: String, sharing: DirectorySharing?, trial verdict: (BucketProbe) throws -> Void
    ) throws -> (cloud: CloudDatabase, isNew: Bool) {
        if isBucket(text) { return try ObjectCloud.create(at: text, container: container, after: verdict) }
        let wasThere = FileManager.default.fileExists(atPath: text + "/cloud.json")
        let cloud =
            try sharing.map { try DirectoryCloud.create(at: text, container: container, sharing: $0) } ?? DirectoryCloud.create(at: text, container: container)
        return (cloud, !wasThere)
    }

    /// Makes the copy of a cloud at an empty place, or opens the existing cloud. Returns the cloud and whether it was made.
    ///
    /// - Parameter identity: the identity that the copy gets.
    package static func create(at text: String, copyOf identity: CloudIdentity) throws -> (cloud: CloudDatabase, isNew: Bool) {
        if isBucket(text) { return try ObjectCloud.create(at: text, container: identity.container, uuid: identity.uuid) }
        let wasThere = FileManager.default.fileExists(atPath: text + "/cloud.json")
        return (try DirectoryCloud.create(at: text, container: identity.container, uuid: identity.uuid), !wasThere)
    }

    /// Returns the text for the settings: an absolute path, or a bucket with the server and region that were found.
    package static func canonical(_ text: String, _ cloud: CloudDatabase) -> String {
        if let bucket = cloud as? ObjectCloud { return bucket.location }
        return isBucket(text) ? text : URL(fileURLWithPath: text).standardizedFileURL.path
    }
}

/// Tests whether a bucket keeps the promises that publishing needs.
enum BucketTrial {
    /// Tests the bucket if the device publishes. Returns warnings.
    ///
    /// - Throws: ``SyncError`` with `.refused` if several devices are to publish and the store may let two of them publish the same number.
    static func run(in cloud: CloudDatabase, for role: SyncRole, at place: String) async throws -> [String] {
        guard role.publishes, let bucket = cloud as? ObjectCloud else { return [] }
        return try verdict(try await SyncError.at(.open) { try await bucket.probe() }, for: role, at: place)
    }

    /// Judges a test for a device that publishes. Returns warnings.
    static func verdict(_ probe: BucketProbe, for role: SyncRole, at place: String) throws -> [String] {
        let broken = probe.findings.filter { !$0.isKept }.map(\.observation)
        guard !broken.isEmpty else { return [] }
        guard role != .peer || probe.isSafeForMany else {
            throw SyncError(
                .refused, step: .open, at: place, "several devices cannot publish in this store: \(broken.joined(separator: "; "))",
                hint: "let one device publish (--role writer, the others --role reader), or use a store with conditional writes")
        }
        return broken.map { "the store does not keep what a cloud needs: \($0); let this device alone publish" }
    }
}
