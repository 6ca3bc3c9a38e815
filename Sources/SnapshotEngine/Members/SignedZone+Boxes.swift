package import CloudStore
package import Sealing

extension SignedZone {
    /// The keys of a sealed zone, read from `cloud` where they are not known yet; nil for a zone that is not sealed.
    ///
    /// - Throws: ``CloudError`` with `.keyUnavailable` or `.notAuthorized` if this device has none.
    package func boxKeys(in cloud: any CloudDatabase) async throws -> BoxKeys? {
        guard let keys else { return nil }
        return try await SealedZoneCloud(wrapping: cloud, keys).boxes()
    }
}
