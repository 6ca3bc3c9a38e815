import CloudStore
import Sealing

/// A cloud whose assets are sealed by fixed keys, as those of a sealed zone are; its records are not.
final class SealedTestCloud: CloudDatabase, @unchecked Sendable {
    /// - Parameter epochs: how many epochs are known; the newest seals.
    init(wrapped: CloudDatabase, epochs: UInt32 = 1) { super.init(wrapped, adding: Seal(cloud: wrapped, epochs: epochs)) }

    private struct Seal: CloudLayer {
        let cloud: CloudDatabase
        let epochs: UInt32

        private func keys(_ zone: ZoneID) throws -> BoxKeys {
            let secrets = (1...epochs).compactMap { number in EpochSecret(number: number, bytes: (0..<32).map { UInt8(number) &* 31 &+ $0 }) }
            return try BoxKeys(cloud: try cloud.openedIdentity().uuid, zone: zone.description, epochs: secrets)
        }

        func writer(_ writer: any AssetWriter, for record: String, in zone: ZoneID) throws -> any AssetWriter {
            SealedAssetWriter(writer, record: record, keys: try keys(zone))
        }

        func reader(_ reader: any AssetReader, of asset: CloudAsset, in zone: ZoneID) async throws -> any AssetReader {
            try SealedAssetReader(reader, of: asset, keys: try keys(zone))
        }
    }
}
