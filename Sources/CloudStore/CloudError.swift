/// What went wrong at the cloud, in words for people and in a code for programs.
public struct CloudError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure. A struct, so that a new code breaks nobody's switch.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let name: String

        /// The cloud is not there: the directory is missing, unmounted, or no longer the one that was opened.
        public static let cloudUnavailable = Code(name: "cloudUnavailable")
        /// The directory is there and is not a cloud.
        public static let notACloud = Code(name: "notACloud")
        /// Another cloud's UUID stands where ours was.
        public static let badContainer = Code(name: "badContainer")
        /// The cloud's format is newer than this program.
        public static let incompatibleVersion = Code(name: "incompatibleVersion")
        public static let zoneNotFound = Code(name: "zoneNotFound")
        public static let unknownItem = Code(name: "unknownItem")
        /// Another device has taken the commit's number.
        public static let serverRecordChanged = Code(name: "serverRecordChanged")
        /// The token's commit was pruned: start from the newest checkpoint.
        public static let changeTokenExpired = Code(name: "changeTokenExpired")
        /// The zone ends before the token, or its history no longer holds it.
        public static let rolledBack = Code(name: "rolledBack")
        /// A commit is there whose asset has not arrived.
        public static let pending = Code(name: "pending")
        /// Bytes are not what their hash, size or grammar says.
        public static let damaged = Code(name: "damaged")
        /// The device may not publish here.
        public static let notAuthorized = Code(name: "notAuthorized")
        public static let permissionFailure = Code(name: "permissionFailure")
        public static let quotaExceeded = Code(name: "quotaExceeded")
        /// A clock is outside 2000 to 2100, or a day off the directory's own.
        public static let clockUnusable = Code(name: "clockUnusable")
        /// A name, a field or a size is not allowed.
        public static let invalidArguments = Code(name: "invalidArguments")
        /// The system failed a read or a write.
        public static let inputOutput = Code(name: "inputOutput")

        public init(name: String) { self.name = name }
        public var description: String { name }
    }

    public let code: Code
    /// What it happened to: a file beneath the cloud, a zone, a record.
    public let place: String
    /// What happened and why.
    public let reason: String
    /// What to do next; nil if nothing can be said.
    public let hint: String?
    /// Whether trying again later, with nothing changed, may succeed.
    public let isRetryable: Bool

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
