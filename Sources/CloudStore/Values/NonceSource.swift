import StrictText

/// A source of random names. A seeded source makes a run repeatable.
package struct NonceSource: Sendable {
    private let bytes: @Sendable (_ count: Int) -> [UInt8]

    package init(_ bytes: @escaping @Sendable (_ count: Int) -> [UInt8]) { self.bytes = bytes }

    /// The system's random generator.
    package static let system = NonceSource { count in
        var generator = SystemRandomNumberGenerator()
        // All eight bytes of each word are used, because each word is a call of the system.
        var bytes: [UInt8] = []
        while bytes.count < count { withUnsafeBytes(of: generator.next()) { bytes.append(contentsOf: $0) } }
        return Array(bytes.prefix(count))
    }

    /// Returns `count` lower-case hexadecimal digits; `count` must be even.
    package func hex(_ count: Int) -> String {
        Hexadecimal.text(bytes(count / 2))
    }

    /// A random UUID (RFC 9562, version 4) in lower case.
    package func uuid() -> String {
        var raw = bytes(16)
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { Hexadecimal.text(raw[$0]) }.joined(separator: "-")
    }
}
