import CloudStore
import Foundation

/// Writes an asset of a busy zone, and looks at the same time whether another device has published its version's number.
final class LookingAssetWriter: AssetWriter {
    private let base: any AssetWriter
    private let number: Int
    private let zone: ObjectZone

    init(_ base: any AssetWriter, of number: Int, in zone: ObjectZone) { (self.base, self.number, self.zone) = (base, number, zone) }

    func write(_ bytes: UnsafeRawBufferPointer) throws { try base.write(bytes) }
    func write(_ bytes: UnsafeRawBufferPointer, copying other: any AssetReader, at offset: Int) throws {
        try base.write(bytes, copying: other, at: offset)
    }
    func setIndex(_ index: Data) throws { try base.setIndex(index) }
    func abandon() { base.abandon() }

    func finish(rawByteCount: Int) throws -> CloudAsset {
        // SAFETY (nonisolated(unsafe)): one body uses both, and this method waits for it.
        nonisolated(unsafe) let base = base
        nonisolated(unsafe) var finished: Result<CloudAsset, any Error>?
        zone.store.sideBySide([{ finished = Result { try base.finish(rawByteCount: rawByteCount) } }, { [zone, number] in zone.lookAhead(at: number) }])
        guard let finished else { throw CloudError(.inputOutput, at: "\(zone.history.zone)", "the asset was not written", isRetryable: true) }
        return try finished.get()
    }
}
