internal import Sealing

/// What is wrong with an asset, an index, a foreign file or a row, with a code for programs and a reason for people.
///
/// The place names dataset, block, entity and column as far as they are known. No error contains a row's values, except its key.
public struct FormatError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure. A struct instead of an enum, so that a new code breaks no client's switch.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, as in the documentation.
        public let name: String

        /// A row of the database cannot be written as an entity.
        public static let badRow = Code(name: "badRow")
        /// Keys do not come in strictly ascending order.
        public static let outOfOrder = Code(name: "outOfOrder")
        /// A key, an entity or a declared size is beyond its limit.
        public static let tooLarge = Code(name: "tooLarge")
        /// The bytes end too early.
        public static let truncated = Code(name: "truncated")
        /// The bytes do not match the hash in the index.
        public static let hashMismatch = Code(name: "hashMismatch")
        /// The bytes violate the format.
        public static let damaged = Code(name: "damaged")
        /// An entity violates its dataset's schema.
        public static let badEntity = Code(name: "badEntity")
        /// The file has a newer format version than this program knows.
        public static let unsupportedVersion = Code(name: "unsupportedVersion")
        /// The file is not a container of a known dataset.
        public static let notAContainer = Code(name: "notAContainer")
        /// The caller combined parts that do not belong together.
        public static let misuse = Code(name: "misuse")
        /// This device does not have the key of the sealed data.
        public static let keyUnavailable = Code(name: "keyUnavailable")
        /// The compression library failed, usually because memory is short.
        public static let compression = Code(name: "compression")

        /// Makes a code with a name.
        public init(name: String) { self.name = name }
        public var description: String { name }
    }

    /// The kind of failure.
    public let code: Code
    /// Where: `notifications, block 17, entity 3, column body`.
    public let place: String
    /// What is wrong, and why the data is refused.
    public let reason: String
    /// What to do next; nil if there is no advice.
    public let hint: String?
    /// Whether the same call may succeed later without any change.
    public let isRetryable: Bool

    /// Describes a failure at a place.
    public init(_ code: Code, at place: String, _ reason: String, hint: String? = nil, isRetryable: Bool = false) {
        (self.code, self.place, self.reason, self.hint, self.isRetryable) = (code, place, reason, hint, isRetryable)
    }

    public var description: String {
        "\(place): \(reason)" + (hint.map { "; hint: \($0)" } ?? "")
    }
}

extension FormatError {
    /// Runs `body`, which opens or makes a box, and adds the place to its errors.
    static func opening<T>(_ place: @autoclosure () -> String, _ body: () throws(BoxError) -> T) throws -> T {
        do throws(BoxError) {
            return try body()
        } catch {
            switch error {
            case .unknownEpoch:
                throw FormatError(
                    .keyUnavailable, at: place(), "\(error)",
                    hint: "run snapsync sync; if the key is still missing then, have a member that publishes approve this device")
            case .damaged: throw FormatError(.damaged, at: place(), "\(error)", hint: "fetch it again; else have the writer run: snapsync export --full")
            case .cipher: throw FormatError(.compression, at: place(), "\(error)")
            }
        }
    }
}
