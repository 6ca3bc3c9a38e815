internal import Sealing

/// What is wrong with an asset, an index, a foreign file or a row, in words for people and in a code for programs.
///
/// The place names dataset, block, entity and column as far as they are known; no error holds a row's values, the key excepted.
public struct FormatError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure. A struct, so that a new code breaks nobody's switch.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, as it stands in the documentation.
        public let name: String

        /// A row of the database cannot be written as an entity.
        public static let badRow = Code(name: "badRow")
        /// Keys do not come in strictly ascending order.
        public static let outOfOrder = Code(name: "outOfOrder")
        /// A key, an entity or a declared size is beyond its limit.
        public static let tooLarge = Code(name: "tooLarge")
        /// The bytes end too early.
        public static let truncated = Code(name: "truncated")
        /// The bytes are not those that the index names.
        public static let hashMismatch = Code(name: "hashMismatch")
        /// The bytes are not what the format says.
        public static let damaged = Code(name: "damaged")
        /// An entity is not what its dataset's schema says.
        public static let badEntity = Code(name: "badEntity")
        /// The file is of a newer format version than this program knows.
        public static let unsupportedVersion = Code(name: "unsupportedVersion")
        /// The file is not a container of a known dataset.
        public static let notAContainer = Code(name: "notAContainer")
        /// The parts put together do not belong together: a mistake of the caller.
        public static let misuse = Code(name: "misuse")
        /// This device lacks the key of what is sealed.
        public static let keyUnavailable = Code(name: "keyUnavailable")
        /// The compression library failed, for want of memory as a rule.
        public static let compression = Code(name: "compression")

        /// Makes a code of a name.
        public init(name: String) { self.name = name }
        public var description: String { name }
    }

    /// The kind of failure.
    public let code: Code
    /// Where: `notifications, block 17, entity 3, column body`.
    public let place: String
    /// What is wrong and why it is refused.
    public let reason: String
    /// What to do next; nil if nothing can be said.
    public let hint: String?
    /// Whether trying again later, with nothing changed, may succeed.
    public let isRetryable: Bool
    /// The position of the column whose value its type does not hold and the type `any` would; nil for any other failure.
    package internal(set) var misfit: Int?

    /// Describes a failure at a place.
    public init(_ code: Code, at place: String, _ reason: String, hint: String? = nil, isRetryable: Bool = false) {
        self.code = code
        self.place = place
        self.reason = reason
        self.hint = hint
        self.isRetryable = isRetryable
    }

    public var description: String {
        "\(place): \(reason)" + (hint.map { "; hint: \($0)" } ?? "")
    }
}

extension FormatError {
    /// Runs what opens or makes a box; its errors come out with the place.
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
