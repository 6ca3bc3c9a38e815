import CloudStore
import ObjectCloud
import SnapshotModel
import SnapshotVersions

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
