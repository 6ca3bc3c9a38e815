/// The owner of keys: a device in one zone of one cloud.
public struct KeyOwner: Hashable, Sendable {
    /// The cloud's UUID.
    public let cloud: String
    public let zone: ZoneID
    public let device: String

    public init(cloud: String, zone: ZoneID, device: String) { (self.cloud, self.zone, self.device) = (cloud, zone, device) }
}

/// A store for the private keys of devices: files, or what an application has, such as a keychain.
///
///     struct Keychain: KeyStore { … }
///     var request = SetupRequest(database: "app.db", cloud: "/mnt/share", role: .reader, enables: true)
///     request.keyStore = Keychain()
///     let engine = try SyncEngine(database: "app.db", options: EngineOptions(keys: Keychain()))
///
/// A store must be separate from the database: databases are copied and backed up, and the keys must not be part of a copy.
public protocol KeyStore: Sendable {
    /// The keys of a device; nil if there are none.
    ///
    /// - Throws: ``CloudError`` with `.keyUnavailable` and the reason if there are keys that cannot be used.
    func keys(of owner: KeyOwner) throws -> DeviceKeys?
    /// Stores a device's keys permanently, if it has none yet.
    ///
    /// - Throws: ``CloudError`` with `.keyUnavailable` if they cannot be stored, or the device has other keys.
    func store(_ keys: DeviceKeys, of owner: KeyOwner) throws
    /// A description for people of where a device's keys are; it never contains the keys.
    func place(of owner: KeyOwner) -> String
}

extension KeyStore {
    /// The keys of a device in a zone of this protection; nil if there are none.
    ///
    /// - Throws: ``CloudError`` with `.keyUnavailable`, also for keys of another kind than the zone's.
    package func keys(of owner: KeyOwner, for protection: ZoneProtection) throws -> DeviceKeys? {
        guard let found = try keys(of: owner) else { return nil }
        guard found.sealingKind == protection.sealingKeyKind else {
            throw CloudError(
                .keyUnavailable, at: place(of: owner),
                "the keys there are of the kind \(found.sealingKind.rawValue), and the zone's are \(protection.sealingKeyKind.rawValue)",
                hint: "choose another name with --name, or bring the right file back from a copy")
        }
        return found
    }

    /// Makes and stores the keys of a device in a zone of this protection.
    ///
    /// - Parameter code: the recovery code with which the device reads the zone, in place of a key of its own.
    /// - Throws: ``CloudError`` with `.keyUnavailable`.
    package func makeKeys(of owner: KeyOwner, for protection: ZoneProtection, recovery code: RecoveryCode? = nil) throws -> DeviceKeys {
        let made = DeviceKeys(
            signingSeed: DeviceKeys().signingSeed, sealingSeed: code?.seed ?? SealingKeyKind.randomSeed(), sealing: protection.sealingKeyKind)
        guard let made else { throw DeviceKeys.unavailable(protection.sealingKeyKind, at: place(of: owner)) }
        try store(made, of: owner)
        return made
    }
}

extension DeviceKeys {
    /// The same signing key, with a new key of another kind beside it.
    ///
    /// - Throws: ``CloudError`` with `.keyUnavailable` at `place` where this system does not have the algorithm.
    package func renewing(_ kind: SealingKeyKind, at place: String) throws(CloudError) -> DeviceKeys {
        guard let keys = DeviceKeys(signingSeed: signingSeed, sealingSeed: SealingKeyKind.randomSeed(), sealing: kind) else {
            throw Self.unavailable(kind, at: place)
        }
        return keys
    }

    fileprivate static func unavailable(_ kind: SealingKeyKind, at place: String) -> CloudError {
        CloudError(.keyUnavailable, at: place, "this system cannot make keys of the kind \(kind.rawValue)", hint: "update the operating system")
    }
}
