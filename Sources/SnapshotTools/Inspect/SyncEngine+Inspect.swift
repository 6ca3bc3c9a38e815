import LocalStore
public import SnapshotEngine
import SnapshotVersions

extension SyncEngine {
    /// The state of this database and of its zone.
    public func status() async throws -> StatusReport {
        try await WorkerThreads.host {
            let gate = try await gate.report()
            return try await countingRequests { try await StatusReporter(device: deviceToLookAt(gate), gate: gate).run() }
        }
    }

    /// An inspector of this database's zone.
    public func inspector() async throws -> SnapshotInspector {
        try await WorkerThreads.host {
            try await gate.enter()
            let device = try device()
            return SnapshotInspector(
                cloud: device.cloud, zone: device.zone, applied: try database.read(at: .read) { try $0.state.appliedHere() }, device: device)
        }
    }
}
