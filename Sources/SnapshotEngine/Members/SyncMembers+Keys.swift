import CloudStore
import LocalTables
import SnapshotVersions
import StrictText
import SyncRuns

/// The result of `zone rotate-keys`.
package struct KeyRotationReport: Sendable, Encodable {
    package let zone: String
    /// The epoch of the new keys.
    package let epoch: Int
    /// The version from which they are used.
    package let version: Int
    /// The words of the new recovery code, if one was requested. The code is a secret and stored nowhere.
    package let recoveryCode: String?
    /// The version in which every dataset was published whole with the new keys, if the caller has exported one; see
    /// ``SyncEngine/export(isFull:allowing:progress:)``.
    package var resealed: Int?
}

/// The result of `key passphrase`.
package struct KeyFileReport: Sendable, Encodable {
    package let zone: String
    package let device: String
    /// The path of the key file.
    package let keyFile: String
    /// Whether the file needs a passphrase.
    package let isLocked: Bool
}

extension SyncMembers {
    /// Sets, replaces or removes the passphrase of this device's key file. The keys stay the same, and the cloud is not changed.
    ///
    /// - Parameters:
    ///   - isLocked: whether the file has a passphrase from now on.
    ///   - file: the file with the new passphrase; nil asks a person.
    /// - Throws: ``SyncError`` with `.refused` if the zone is not signed, or the keys are not in a ``FileKeyStore`` or cannot be used.
    package func setPassphrase(isLocked: Bool, from file: String? = nil) async throws -> KeyFileReport {
        try await engine.locked {
            let settings = try engine.database.read { try $0.settings.read() }
            let owner = try signed(engine.openToLook(settings).signedZone).owner
            guard let store = engine.keyStore as? FileKeyStore else {
                throw SyncError(.refused, step: .open, at: engine.database.path, "the application keeps its keys itself, and not in a file")
            }
            try store.change(isLocked ? .set(from: file) : .remove, of: owner)
            return KeyFileReport(zone: owner.zone.name, device: owner.device, keyFile: store.place(of: owner), isLocked: isLocked)
        }
    }

    /// Begins a new epoch of a sealed zone: versions published from now on use new keys, for the same members.
    ///
    /// - Parameter makesRecoveryCode: whether to make a new recovery code. The old code then opens no later version.
    /// - Throws: ``SyncError`` with `.refused` if the zone is not sealed, or this device does not publish in it.
    package func rotateKeys(makesRecoveryCode: Bool = false) async throws -> KeyRotationReport {
        try await engine.gate.enter()
        return try await engine.locked {
            let context = try engine.context()
            guard let zone = context.signedZone, let keys = zone.keys else {
                throw SyncError(
                    .refused, step: .open, at: engine.database.path, "its zone is not sealed, so it has no keys to change",
                    hint: "to encrypt it: snapsync zone encrypt")
            }
            let code = makesRecoveryCode ? RecoveryCode() : nil
            var epoch = 0
            let token = try await MetadataPublisher(context: context).publish { state in
                guard let record = state.record(MemberList.recordName), let token = state.token else { throw unpublished(zone.owner.zone) }
                let list = try MemberList(record, savedBy: token.number, of: zone.history, at: zone.owner.zone.place)
                let ring = try keys.rotated(for: list, recoveryKey: code?.publicKey(zone.history.protection.sealingKeyKind))
                epoch = Int(ring.epoch)
                return MetadataPublisher.Changes(saving: [ring.record])
            }
            return KeyRotationReport(zone: zone.owner.zone.name, epoch: epoch, version: token.number, recoveryCode: code?.words)
        }
    }
}
