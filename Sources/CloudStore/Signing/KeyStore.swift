/// Whose keys: a device's in one zone of one cloud.
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

/// Where the private keys of devices lie: files, or what an application has, such as a keychain.
///
///     struct Keychain: KeyStore { … }
///     var request = SetupRequest(database: "app.db", cloud: "/mnt/share", role: .reader)
///     request.keyStore = Keychain()
///     let engine = try SyncEngine(database: "app.db", keys: Keychain())
///
/// A store must not lie where the database lies: databases are copied and backed up, and keys must not travel with them.
public protocol KeyStore: Sendable {
    /// The keys of a device; nil if there are none.
    ///
    /// - Throws: ``CloudError`` with `.keyUnavailable` if there are keys that cannot be used, and says why.
    func keys(of owner: KeyOwner) throws -> DeviceKeys?
    /// Stores a device's keys for good, if it has none yet.
    ///
    /// - Throws: ``CloudError`` with `.keyUnavailable` if they cannot be stored, or others are there.
    func store(_ keys: DeviceKeys, of owner: KeyOwner) throws
    /// Where the keys of a device lie, in words for people; never the keys.
    func place(of owner: KeyOwner) -> String
}
