public import StrictText

/// A vendor's signed statement that a user may sync with a product, and until when.
public struct Licence: Hashable, Sendable, Codable {
    /// The product, for example the application's container identifier. A licence for one product does not count for another.
    public let product: String
    /// The name of the holder, for display.
    public let holder: String
    public let issuedAt: Instant
    /// When the licence ends; nil if it does not.
    public let validUntil: Instant?

    public init(product: String, holder: String, issuedAt: Instant = .now, validUntil: Instant? = nil) {
        self.product = product
        self.holder = holder
        self.issuedAt = issuedAt
        self.validUntil = validUntil
    }
}
