/// How much a cloud takes. Nothing but the size of an asset is limited unless it is set.
///
///     var limits = CloudLimits.cloudKit
///     limits.quota = 5_000_000_000
///     let cloud = LimitedCloudDatabase(wrapping: directory, limits: limits)
public struct CloudLimits: Hashable, Sendable {
    /// How many records one commit may save and delete.
    public var itemsPerRequest: Int?
    /// How many bytes the records of one commit may have, as JSON, without their assets.
    public var bytesPerRequest: Int?
    /// How many bytes one record may have, as JSON, without its assets.
    public var bytesPerRecord: Int?
    /// How many bytes one asset may have.
    public var bytesPerAsset: Int?
    /// How many bytes the live records and their assets may have in all zones together.
    public var quota: Int?
    /// How many requests may be made in how long.
    public var rate: Rate?

    /// So many requests in each window of so long.
    public struct Rate: Hashable, Sendable {
        public var requests: Int
        public var window: Duration

        public init(requests: Int, window: Duration) {
            self.requests = max(1, requests)
            self.window = window
        }
    }

    /// No limits but those that are given, and 250,000,000 bytes for an asset.
    public init(
        itemsPerRequest: Int? = nil, bytesPerRequest: Int? = nil, bytesPerRecord: Int? = nil, bytesPerAsset: Int? = 250_000_000,
        quota: Int? = nil, rate: Rate? = nil
    ) {
        self.itemsPerRequest = itemsPerRequest
        self.bytesPerRequest = bytesPerRequest
        self.bytesPerRecord = bytesPerRecord
        self.bytesPerAsset = bytesPerAsset
        self.quota = quota
        self.rate = rate
    }

    /// The asset's limit alone.
    public static let standard = CloudLimits()
    /// CloudKit's documented limits: 400 items and 2 MB for a request, 1 MB for a record, 250 MB for an asset.
    public static let cloudKit = CloudLimits(itemsPerRequest: 400, bytesPerRequest: 2_000_000, bytesPerRecord: 1_000_000)
}
