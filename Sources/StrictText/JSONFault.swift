/// Where and why a text is not the expected JSON.
public struct JSONFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// The offset in bytes at which reading stopped, from 0.
    public let offset: Int
    /// What is wrong there; never the text itself.
    public let reason: String

    package init(offset: Int, reason: String) {
        self.offset = offset
        self.reason = reason
    }

    public var description: String { "\(reason) at byte \(offset)" }
}
