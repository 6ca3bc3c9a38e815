import CloudStore
import SnapshotModel
import SnapshotVersions

/// Refuses commits and messages once the gate is closed. If the user turns sync off during a run, nothing is published after that.
struct GateLayer: CloudLayer {
    let gate: SyncGate

    func willCall(_ call: CloudCall, in zone: ZoneID?) async throws {
        switch call {
        case .publish, .send: try gate.verify()
        default: break
        }
    }
}

/// Refuses assets larger than the database's limit, while they are written and before anything is published.
struct AssetLimitLayer: CloudLayer {
    let limit: Int
    /// Dataset names by record name.
    private let names: [String: String]

    init(_ limit: Int, datasets: [DatasetSchema]) {
        self.limit = limit
        names = Dictionary(datasets.map { ($0.recordName, $0.name) }) { first, _ in first }
    }

    func writer(_ writer: any AssetWriter, for record: String, in zone: ZoneID) throws -> any AssetWriter {
        LimitedAssetWriter(writer, limit: limit, exceeded: AssetLimits.exceeded(names[record] ?? record, limit: limit))
    }
}

extension CloudDatabase {
    /// Replaces a cloud that could not be opened or must not be used: every request throws the reason.
    static func absent(_ reason: SyncError) -> CloudDatabase { MemoryCloudDatabase().adding(AbsenceLayer(reason: reason)) }
}

private struct AbsenceLayer: CloudLayer {
    let reason: SyncError

    func willCall(_ call: CloudCall, in zone: ZoneID?) async throws { throw reason }
}
