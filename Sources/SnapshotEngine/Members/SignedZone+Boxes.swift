package import CloudStore
package import Sealing

extension SignedZone {
    /// Returns the keys of a sealed zone, and reads them from `cloud` if they are not known yet; nil for a zone that is not sealed.
    ///
    /// - Throws: ``CloudError`` with `.keyUnavailable` or `.notAuthorized` if this device has none.
    package func boxKeys(in cloud: any CloudDatabase) async throws -> BoxKeys? {
        guard let keys else { return nil }
        return try await SealedZoneCloud(wrapping: cloud, keys).boxes()
    }
}
