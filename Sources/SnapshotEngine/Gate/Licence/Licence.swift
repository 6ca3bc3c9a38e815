public import StrictText

/// What a vendor states, with a signature: who may sync with which product, and until when.
public struct Licence: Hashable, Sendable, Codable {
    /// What it is for, such as the application's container identifier. A licence for one product is none for another.
    public let product: String
    /// To whom it was given, in words.
    public let holder: String
    public let issuedAt: Instant
    /// When it ends; nil if it does not.
    public let validUntil: Instant?

    public init(product: String, holder: String, issuedAt: Instant = .now, validUntil: Instant? = nil) {
        self.product = product
        self.holder = holder
        self.issuedAt = issuedAt
        self.validUntil = validUntil
    }
}
