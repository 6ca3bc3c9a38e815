import CloudStore
import LocalStore
import SnapshotVersions
import StrictText

/// The pins that `restore`, `replace` and `undo` have left for the next commit. They are checked again before that commit.
///
/// Another device may have pruned such a version in between, because it sees no pin before the commit. A pin that would keep nothing is not made.
/// The run reports it, and `undo` forgets the version.
struct PendingPins: Sendable {
    let device: SyncContext

    /// The pins for the next commit, and the pins whose versions are gone.
    struct Outcome: Sendable {
        var pins: [VersionPin] = []
        var lost: [PendingPin] = []

        var warnings: [String] {
            lost.map { one in
                let act = one.name.exact.hasPrefix("before the ") ? String(one.name.dropFirst(11)) : "last command"
                return
                    "version \(one.version), which the \(act) replaced, was pruned by another device before it could be pinned; it is gone, and undo cannot bring it back"
            }
        }
    }

    func check() async throws -> Outcome {
        var outcome = Outcome()
        for pending in try device.database.read(at: .read, { try $0.state.pendingPins() }) {
            if let pin = try await pin(pending) { outcome.pins.append(pin) } else { outcome.lost.append(pending) }
        }
        return outcome
    }

    /// Returns the pin if the version can be read permanently. If the checkpoint is missing and the version's commit is kept, places the
    /// checkpoint again.
    private func pin(_ pending: PendingPin) async throws -> VersionPin? {
        let pin = VersionPin(pending, at: device.now())
        switch try await pin.look(in: device.cloud, device.zone) {
        case .checkpoint(let state): return try await hasAssets(state) ? pin : nil
        case .commit:
            let checkpoint = try await device.cloud.at(.store).placeCheckpoint(at: pin.version, in: device.zone)
            return VersionPin(
                version: pin.version, name: pin.name, commit: pin.commit, checkpoint: checkpoint, timestamp: pin.timestamp, pinnedAt: pin.pinnedAt)
        case .nothing: return nil
        }
    }

    /// Whether the assets still exist of a version whose commit may be gone.
    private func hasAssets(_ state: ZoneState) async throws -> Bool {
        for asset in state.records.flatMap(\.assets) {
            do {
                let reader = try await device.cloud.openAsset(asset, in: device.zone)
                if asset.index != nil { _ = try reader.index() }
            } catch let error as CloudError where error.code == .pending || error.code == .unknownItem {
                return false
            } catch {
                throw SyncError(error, step: .fetch)
            }
        }
        return true
    }
}
