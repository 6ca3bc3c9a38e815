import CloudStore

/// The limits of a cloud. By default only the size of an asset is limited.
///
///     var limits = CloudLimits.cloudKit
///     limits.bytesPerAsset = 50_000_000
///     let cloud = directory.limited(to: limits)
public struct CloudLimits: Hashable, Sendable {
    /// The most records that one commit may save and delete.
    public var itemsPerRequest: Int?
    /// The most bytes of one commit's records, as JSON, without their assets.
    public var bytesPerRequest: Int?
    /// The most bytes of one record, as JSON, without its assets.
    public var bytesPerRecord: Int?
    /// The most bytes of one asset.
    public var bytesPerAsset: Int?

    /// Makes limits: those that are given, and by default 250,000,000 bytes for an asset.
    public init(
        itemsPerRequest: Int? = nil, bytesPerRequest: Int? = nil, bytesPerRecord: Int? = nil, bytesPerAsset: Int? = 250_000_000
    ) {
        self.itemsPerRequest = itemsPerRequest
        self.bytesPerRequest = bytesPerRequest
        self.bytesPerRecord = bytesPerRecord
        self.bytesPerAsset = bytesPerAsset
    }

    /// Only the limit of an asset.
    public static let standard = CloudLimits()
    /// CloudKit's documented limits: 400 items and 2 MB for a request, 1 MB for a record, 250 MB for an asset.
    public static let cloudKit = CloudLimits(itemsPerRequest: 400, bytesPerRequest: 2_000_000, bytesPerRecord: 1_000_000)
}
