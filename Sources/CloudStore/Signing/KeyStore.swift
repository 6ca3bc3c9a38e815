/// The owner of keys: a device in one zone of one cloud.
public struct KeyOwner: Hashable, Sendable {
    /// The cloud's UUID.
    public let cloud: String
    public let zone: ZoneID
    public let device: String

    public init(cloud: String, zone: ZoneID, device: String) {
        self.cloud = cloud
        self.zone = zone
        self.device = device
    }
}

/// A store for the private keys of devices: files, or what an application has, such as a keychain.
///
///     struct Keychain: KeyStore { … }
///     var request = SetupRequest(database: "app.db", cloud: "/mnt/share", role: .reader)
///     request.keyStore = Keychain()
///     let engine = try SyncEngine(database: "app.db", keys: Keychain())
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
