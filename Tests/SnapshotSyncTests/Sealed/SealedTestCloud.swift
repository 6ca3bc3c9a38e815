import CloudStore
import Sealing

/// A cloud whose assets are sealed by fixed keys, as those of a sealed zone are; its records are not.
struct SealedTestCloud: CloudDatabaseDecorator {
    let wrapped: any CloudDatabase
    /// How many epochs are known; the newest seals.
    var epochs: UInt32 = 1

    private func keys(_ zone: ZoneID) async throws -> BoxKeys {
        let secrets = (1...epochs).compactMap { number in EpochSecret(number: number, bytes: (0..<32).map { UInt8(number) &* 31 &+ $0 }) }
        return try BoxKeys(cloud: try await wrapped.identity().uuid, zone: zone.description, epochs: secrets)
    }

    func newAsset(for record: String, number: Int, kind: AssetKind, in zone: ZoneID) async throws -> sending any AssetWriter {
        let keys = try await keys(zone)
        return SealedAssetWriter(try await wrapped.newAsset(for: record, number: number, kind: kind, in: zone), record: record, keys: keys)
    }

    func openAsset(_ asset: CloudAsset, in zone: ZoneID) async throws -> any AssetReader {
        try SealedAssetReader(try await wrapped.openAsset(asset, in: zone), of: asset, keys: try await keys(zone))
    }
}
