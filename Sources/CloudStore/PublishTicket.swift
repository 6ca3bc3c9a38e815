/// A place in a zone's publish queue: a device takes one after it has lost several races for a commit's number.
///
/// Tickets are hints: devices that see one wait before they publish, so that the device behind it gets its turn. No rule of the
/// format rests on them; a ticket that is lost, copied, or left by a killed run costs time at most.
public struct PublishTicket: Hashable, Sendable, Comparable {
    /// The first number that the device lost; the lowest publishes first.
    public let number: Int
    /// 8 random hexadecimal digits, which decide between equal numbers.
    let nonce: String

    /// A new ticket of a device that lost the race for `number`.
    package init(number: Int, nonces: NonceSource) {
        self.number = number
        nonce = nonces.hex(8)
    }

    /// The ticket that a file stands for; nil for any other name, such as that of a conflict copy.
    package init?(fileName: String) {
        let name = fileName.utf8
        guard fileName.hasSuffix(".json"), name.count == 34, let number = CloudNames.number(ofDigits: name.prefix(20)),
            name.dropFirst(20).first == UInt8(ascii: "-"), CloudNames.isHex(name.dropFirst(21).prefix(8))
        else { return nil }
        self.number = number
        nonce = String(Substring(name.dropFirst(21).prefix(8)))
    }

    /// The name of its file in `waiting/`.
    package var fileName: String { "\(CloudNames.digits(number))-\(nonce).json" }

    /// The order in which devices publish.
    public static func < (one: PublishTicket, other: PublishTicket) -> Bool { (one.number, one.nonce) < (other.number, other.nonce) }
}
