/// One version of a dataset as Swift values: the JSON document that an asset holds.
///
/// ``BucketsDataContainer`` and ``NotificationsDataContainer`` are the built-in containers. An application declares a similar type for its own
/// dataset. `JSONDecoder` decodes an asset's text into it.
public protocol DatasetContainer: Codable, Sendable {
    associatedtype Entity: Codable, Sendable, Identifiable where Entity.ID == String

    /// The dataset's name.
    static var dataset: String { get }
    var entities: [Entity] { get }
    /// When the container was made, as RFC 3339 text.
    var syncTimestamp: String { get }

    init(entities: [Entity], syncTimestamp: String)
}
