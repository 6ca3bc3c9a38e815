import CloudStore
import CommitLog
import LocalStore
import SnapshotVersions
import StrictText

/// What `key rotate` did.
public struct KeyRotationReport: Sendable, Encodable {
    public let zone: String
    /// The number of the new keys.
    public let epoch: Int
    /// The version with which they begin.
    public let version: Int
    /// The words of the new recovery code, if one was asked for: a secret, which is stored nowhere.
    public let recoveryCode: String?
}

extension SyncEngine {
    /// Begins a new epoch of a sealed zone: what is published from then on has other keys, for the same members.
    ///
    /// - Parameter makesRecoveryCode: whether to make a new recovery code; the old one opens no later version then.
    /// - Throws: ``SyncError`` with `.refused` if the zone is not sealed, or this device does not publish in it.
    public func rotateKeys(makesRecoveryCode: Bool = false) async throws -> KeyRotationReport {
        try await gate.enter()
        return try await locked {
            let context = try self.device()
            guard let zone = context.signedZone, let keys = zone.keys else {
                throw SyncError(
                    .refused, step: .open, at: database.path, "its zone is not sealed, so it has no keys to change",
                    hint: "a new zone can be sealed: snapsync init --sealed --zone NAME")
            }
            let code = makesRecoveryCode ? RecoveryCode() : nil
            var epoch = 0
            let token = try await MetadataPublisher(device: context).publish { state in
                guard let record = state.record(MemberList.recordName), let token = state.token else {
                    throw SyncError(
                        .nothingThere, step: .announce, at: "zone \(zone.owner.zone)", "nothing has been published yet", hint: "run snapsync sync first")
                }
                return try SyncError.at(.announce) {
                    let list = try MemberList(record, savedBy: token.number, of: zone.history, at: "zone \(zone.owner.zone)")
                    let ring = try keys.rotated(for: list, recoveryKey: code?.publicKey)
                    epoch = Int(ring.epoch)
                    return MetadataPublisher.Changes(saving: [ring.record])
                }
            }
            return KeyRotationReport(zone: zone.owner.zone.name, epoch: epoch, version: token.number, recoveryCode: code?.words)
        }
    }
}
