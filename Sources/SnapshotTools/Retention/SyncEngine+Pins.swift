import CloudStore
import LocalStore
public import SnapshotEngine
import SnapshotModel
import SnapshotVersions
import StrictText

/// The result of `pin` or `unpin`.
public struct PinReport: Sendable, Encodable {
    /// The requested version.
    public let version: Int
    public let name: String?
    /// Whether the version is pinned now.
    public let isPinned: Bool
    /// Whether a commit was made; false if there was nothing to change.
    public let changed: Bool
    /// The zone's newest version afterwards.
    public let newestVersion: Int
}

extension SyncEngine {
    /// Pins a version, so that pruning keeps it until ``unpin(_:)``. Publishers only; the pin applies to all devices.
    public func pin(_ version: Int, name: String? = nil) async throws -> PinReport {
        try await locked {
            let device = try device()
            // Find the version before the import, so that nothing is changed if it does not exist.
            if device.settings.role.publishes { _ = try await VersionFinder(cloud: device.cloud, zone: device.zone, token: nil).state(of: version) }
            var changed = false
            let token = try await MetadataPublisher(device: device).publish { state in
                if let pin = state.pins.first(where: { $0.version == version }), pin.name?.exact == name?.exact { return MetadataPublisher.Changes() }
                changed = true
                return MetadataPublisher.Changes(saving: [try await device.makePin(of: version, name: name).record])
            }
            // A concurrent prune that listed the pins before this commit may have removed files of the pinned version, so check them.
            if changed {
                let pins = try await device.cloud.records(in: device.zone).pins.filter { $0.version == version }
                if let gone = try await PinnedVersions(pins, in: device.cloud, device.zone).unreadable.first { throw gone.error }
            }
            return PinReport(version: version, name: name, isPinned: true, changed: changed, newestVersion: token.number)
        }
    }

    /// Removes the pin of a version, so that pruning can remove the version.
    public func unpin(_ version: Int) async throws -> PinReport {
        try await locked {
            let token = try await MetadataPublisher(device: device()).publish { state in
                guard let pin = state.pins.first(where: { $0.version == version }) else {
                    let pinned = state.pins.map { String($0.version) }.joined(separator: ", ")
                    throw SyncError(
                        .nothingThere, step: .announce, at: "version \(version)", "it is not pinned",
                        hint: pinned.isEmpty ? "no version is" : "pinned are \(pinned)")
                }
                return MetadataPublisher.Changes(deleting: [pin.record.name])
            }
            return PinReport(version: version, name: nil, isPinned: false, changed: true, newestVersion: token.number)
        }
    }
}

extension SyncContext {
    /// Makes a pin of a kept version, and writes the version's checkpoint.
    func makePin(of version: Int, name: String?) async throws -> VersionPin {
        let state = try await VersionFinder(cloud: cloud, zone: zone, token: nil).state(of: version)
        guard let token = state.token, let timestamp = state.timestamp else {
            throw SyncError(.nothingThere, step: .fetch, at: "version \(version)", "there is no such version", hint: "snapsync log lists the versions")
        }
        // An already pinned version has its checkpoint, so a new name needs no new one.
        let newest = try await VersionFinder(cloud: cloud, zone: zone, token: nil).state(of: nil)
        let known = newest.pins.first { $0.version == version }?.checkpoint
        let checkpoint: CheckpointReference
        if let known { checkpoint = known } else { checkpoint = try await cloud.placeCheckpoint(at: version, in: zone) }
        return VersionPin(version: version, name: name, commit: token.hash, checkpoint: checkpoint, timestamp: timestamp, pinnedAt: now())
    }
}
