import CloudStore
import SnapshotEngine
import SnapshotFormat
import SnapshotModel
import SnapshotVersions

/// The findings of a `verify` so far, file by file.
struct VerifyFindings {
    private(set) var sound: [VerifyReport.Asset] = []
    private(set) var problems: [String] = []
    /// The files that have not arrived completely, each in one sentence.
    private(set) var arriving: [String] = []
    private(set) var damaged: [VerifyReport.Damaged] = []
    private var begun: Set<String> = []

    /// Whether a file was not checked yet; marks it as checked.
    mutating func begin(_ file: String) -> Bool { begun.insert(file).inserted }

    /// Whether a file was checked and is undamaged.
    func isSound(_ file: String) -> Bool { sound.contains { $0.file == file } }

    /// Checks a file. Damage and absence are recorded; any other error ends the check.
    mutating func attempt(_ file: String, _ record: CloudRecord, _ version: Int, _ body: () async throws -> VerifyReport.Asset?) async throws {
        do {
            if let asset = try await body() { sound.append(asset) }
        } catch let error as DamagedBlocks {
            note(file, record, version, error.described, error.blocks)
        } catch let error as SyncError where error.isArriving {
            arriving.append("version \(version), \(record.name) (\(file)): \(error)")
        } catch let error as SyncError where error.code == .dataRefused || error.code == .tryAgainLater {
            note(file, record, version, error, [])
        }
    }

    /// Records the pins whose checkpoints are missing or damaged.
    mutating func note(_ pins: PinnedVersions) {
        let faults = pins.unreadable.map { ($0.pin, $0.error) } + pins.withoutCheckpoint.map { ($0, $0.checkpointIsMissing) }
        for (pin, error) in faults.sorted(by: { $0.0.version < $1.0.version }) {
            problems.append("\(error)")
            damaged.append(VerifyReport.Damaged(file: pin.checkpointPath, version: pin.version, blocks: []))
        }
    }

    private mutating func note(_ file: String, _ record: CloudRecord, _ version: Int, _ error: SyncError, _ blocks: [Int]) {
        problems.append("version \(version), \(record.name) (\(file)): \(error)")
        damaged.append(VerifyReport.Damaged(file: file, version: version, blocks: blocks))
    }
}

/// A snapshot asset with a complete list of its damaged blocks.
struct DamagedBlocks: Error {
    /// The numbers of the damaged blocks, from 0; empty if something else is wrong.
    let blocks: [Int]
    /// The first fault, and what to do.
    let described: SyncError

    /// - Parameter error: the error that the first check met.
    init(_ faults: [(block: Int, error: SyncError)], error: SyncError) {
        blocks = faults.map(\.block)
        guard let first = faults.first else {
            described = SyncError(error.code, step: error.step, at: error.place, error.reason, hint: SnapshotAsset.hint)
            return
        }
        let place = first.error.place.replacing("block \(first.block)", with: BlockWords.list(blocks), maxReplacements: 1)
        described = SyncError(
            .dataRefused, step: first.error.step, at: place, (blocks.count > 1 ? "the first: " : "") + first.error.reason, hint: SnapshotAsset.hint)
    }

    /// Checks every block of an asset by itself.
    static func find(in asset: SnapshotAsset, _ schema: DatasetSchema) throws -> [(block: Int, error: SyncError)] {
        var found: [(block: Int, error: SyncError)] = []
        for number in asset.index.blocks.indices {
            do {
                try BlockPipeline(asset: asset, blocks: [number], workerCount: 1).run(.entitiesAndHash(schema)) { _, _ in }
            } catch let error as SyncError where error.code == .dataRefused {
                found.append((number, error))
            }
        }
        return found
    }
}
