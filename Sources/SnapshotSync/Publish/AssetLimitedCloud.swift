import CloudStore
import Foundation
import SnapshotModel

/// A cloud that takes no asset larger than the database's limit: refused while it is written, before anything is published.
struct AssetLimitedCloud: CloudDatabaseDecorator {
    let wrapped: any CloudDatabase
    private let limit: Int
    /// The datasets' names by those of their records.
    private let names: [String: String]

    init(wrapping cloud: any CloudDatabase, limit: Int, datasets: [DatasetSchema]) {
        wrapped = cloud
        self.limit = limit
        names = Dictionary(datasets.map { ($0.recordName, $0.name) }) { first, _ in first }
    }

    func newAsset(for record: String, number: Int, kind: AssetKind, in zone: ZoneID) async throws -> sending any AssetWriter {
        SizeCheckedAsset(
            try await wrapped.newAsset(for: record, number: number, kind: kind, in: zone), limit: limit,
            exceeded: AssetLimits.exceeded(names[record] ?? record, limit: limit))
    }
}

/// An asset writer that ends, and leaves nothing, where the limit is passed.
private final class SizeCheckedAsset: AssetWriter {
    private let wrapped: any AssetWriter
    private let exceeded: SyncError
    private var room: Int

    init(_ wrapped: sending any AssetWriter, limit: Int, exceeded: SyncError) {
        self.wrapped = wrapped
        self.exceeded = exceeded
        room = limit
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        try count(bytes)
        try wrapped.write(bytes)
    }

    func write(_ bytes: UnsafeRawBufferPointer, copying other: any AssetReader, at offset: Int) throws {
        try count(bytes)
        try wrapped.write(bytes, copying: other, at: offset)
    }

    private func count(_ bytes: UnsafeRawBufferPointer) throws {
        guard bytes.count <= room else {
            wrapped.abandon()
            throw exceeded
        }
        room -= bytes.count
    }

    func setIndex(_ index: Data) throws { try wrapped.setIndex(index) }

    func finish(rawByteCount: Int) throws -> CloudAsset { try wrapped.finish(rawByteCount: rawByteCount) }

    func abandon() { wrapped.abandon() }
}
