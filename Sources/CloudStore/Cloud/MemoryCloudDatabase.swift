public import StrictText

/// A cloud in this process's memory: for tests and previews.
///
///     let cloud = MemoryCloudDatabase(container: "iCloud.org.example.app")
///
/// Several devices of the process may share it. Nothing outlives the process.
// SAFETY (@unchecked Sendable): as its superclass.
public final class MemoryCloudDatabase: CloudDatabase, @unchecked Sendable {
    /// Makes an empty cloud.
    ///
    /// - Parameter now: the cloud's own clock. A publisher's clock is checked against it.
    public convenience init(container: String = "iCloud.org.example.memory", now: @escaping @Sendable () -> Instant = { .now }) {
        self.init(container: container, now: now, nonces: .system)
    }

    /// Makes an empty cloud with a given source of random names.
    package init(container: String, now: @escaping @Sendable () -> Instant, nonces: NonceSource) {
        let identity = CloudIdentity(formatVersion: CloudMarker.formatVersion, uuid: nonces.uuid(), container: container)
        super.init(MemoryStore(now: now), found: identity, nonces: nonces, isSharedByDevices: true)
    }

    /// Changes the bytes of an object, named by its path beneath the zone; nil is one that is not there. For tests.
    package func damage(_ path: String, in zone: ZoneID, _ change: (inout [UInt8]?) -> Void) {
        (store as? MemoryStore)?.change("\(zone)/\(path)", change)
    }

    /// Changes the bytes of a commit. For tests.
    package func damageCommit(_ number: Int, in zone: ZoneID, _ change: (inout [UInt8]?) -> Void) {
        damage("\(CloudNames.commits)/\(CloudNames.digits(number)).json", in: zone, change)
    }
}
