import StrictText

/// A place in a zone's publish queue. A device takes a ticket after it has lost several races for a commit's number.
///
/// Tickets are only hints: a device that sees one waits before it publishes, so that the ticket's device gets its turn. No rule of the
/// format depends on them. A ticket that is lost, copied, or left behind by a killed run costs at most some time.
public struct PublishTicket: Hashable, Sendable, Comparable {
    /// The first number for which the device lost the race. The lowest number publishes first.
    public let number: Int
    /// 8 random hexadecimal digits that decide between equal numbers.
    let nonce: String

    /// A new ticket of a device that lost the race for `number`.
    package init(number: Int, nonces: NonceSource) {
        self.number = number
        nonce = nonces.hex(8)
    }

    /// Parses the ticket from a file name; nil for any other name, such as that of a conflict copy. A backend stores tickets under these names.
    public init?(fileName: String) {
        let name = fileName.utf8
        guard fileName.exact.hasSuffix(".json"), name.count == 34, let number = CloudNames.number(ofDigits: name.prefix(20)),
            name.dropFirst(20).first == UInt8(ascii: "-"), CloudNames.isHex(name.dropFirst(21).prefix(8))
        else { return nil }
        self.number = number
        nonce = String(Substring(name.dropFirst(21).prefix(8)))
    }

    /// The name of its file in `waiting/`.
    public var fileName: String { "\(CloudNames.digits(number))-\(nonce).json" }

    /// The order in which devices publish.
    public static func < (one: PublishTicket, other: PublishTicket) -> Bool { (one.number, one.nonce) < (other.number, other.nonce) }
}
