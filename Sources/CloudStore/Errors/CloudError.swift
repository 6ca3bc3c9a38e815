/// What went wrong at the cloud, in words for people and in a code for programs.
///
/// What each code means, and what to do about it, is in one table: ``ErrorTable``, docs/errors.md.
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
        /// There is no such zone.
        public static let zoneNotFound = Code(name: "zoneNotFound")
        /// The zone was deleted, and the error says why: ``CloudError/zoneDeletion``.
        public static let userDeletedZone = Code(name: "userDeletedZone")
        /// The zone goes on in another one, and the error says which: ``CloudError/successor``.
        public static let zoneMoved = Code(name: "zoneMoved")
        /// The record, the version or the asset is not there.
        public static let unknownItem = Code(name: "unknownItem")
        /// Another device has taken the commit's number, or saved the record since it was fetched.
        public static let serverRecordChanged = Code(name: "serverRecordChanged")
        /// The token's commit was pruned: start from the newest checkpoint.
        public static let changeTokenExpired = Code(name: "changeTokenExpired")
        /// The zone ends before the token, or its history no longer holds it.
        public static let rolledBack = Code(name: "rolledBack")
        /// A commit is there whose asset has not arrived.
        public static let pending = Code(name: "pending")
        /// Bytes are not what their hash, size or grammar says.
        public static let damaged = Code(name: "damaged")
        /// A signature, or who signed, is not what this device trusts.
        public static let untrusted = Code(name: "untrusted")
        /// The device's private keys are missing, or cannot be used.
        public static let keyUnavailable = Code(name: "keyUnavailable")
        /// The device may not publish here.
        public static let notAuthorized = Code(name: "notAuthorized")
        /// The user lacks a right.
        public static let permissionFailure = Code(name: "permissionFailure")
        /// There is no room.
        public static let quotaExceeded = Code(name: "quotaExceeded")
        /// A clock is outside 2000 to 2100, or a day off the directory's own.
        public static let clockUnusable = Code(name: "clockUnusable")
        /// A name, a field or a size is not allowed.
        public static let invalidArguments = Code(name: "invalidArguments")
        /// Some records of a request failed, each for its own reason: ``CloudError/partialErrors``.
        public static let partialFailure = Code(name: "partialFailure")
        /// Nothing is wrong with this record; another one made the atomic request fail.
        public static let batchRequestFailed = Code(name: "batchRequestFailed")
        /// A request or a record is larger than allowed: split it.
        public static let limitExceeded = Code(name: "limitExceeded")
        /// Too many requests in a short time; ``CloudError/retryAfter`` says when the next is welcome.
        public static let requestRateLimited = Code(name: "requestRateLimited")
        /// The file system's server no longer knows an open file: the request may have succeeded, and may be sent again.
        public static let serverResponseLost = Code(name: "serverResponseLost")
        /// Other devices published first again and again.
        public static let zoneBusy = Code(name: "zoneBusy")
        /// A reference that needs its target has none.
        public static let referenceViolation = Code(name: "referenceViolation")
        /// A record names an asset that is not there.
        public static let assetFileNotFound = Code(name: "assetFileNotFound")
        /// A record names an asset that is there with another size or content.
        public static let assetFileModified = Code(name: "assetFileModified")
        /// No account, so nothing of a private cloud can be had.
        public static let notAuthenticated = Code(name: "notAuthenticated")
        /// The account may not use the cloud.
        public static let managedAccountRestricted = Code(name: "managedAccountRestricted")
        /// There is an account, and it cannot be used just now.
        public static let accountTemporarilyUnavailable = Code(name: "accountTemporarilyUnavailable")
        /// The caller cancelled it.
        public static let operationCancelled = Code(name: "operationCancelled")
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
    /// How long to wait before trying again; nil if the cloud did not say.
    public let retryAfter: Duration?
    /// Under `partialFailure`: what went wrong with each record, by name. Empty otherwise.
    public let partialErrors: [String: CloudError]
    /// Under `serverRecordChanged` for one record: the three versions that a merge needs.
    public let conflict: RecordConflict?
    /// Under `userDeletedZone`: why the zone was deleted.
    public let zoneDeletion: ZoneDeletion?
    /// Under `zoneMoved`: where the zone goes on.
    public package(set) var successor: ZoneSuccessor?
    /// Under `zoneMoved`, at a device whose version lost its number to another one's: the last version that both have.
    package var commonVersion: Int?
    /// Under `damaged`, for a commit that does not follow the one before it: the commit that it was made after.
    package var missingParent: ChangeToken?
    /// Under `pending`: whether a beginning of the file is there, rather than nothing.
    package var isArriving = false

    /// Makes an error.
    ///
    /// - Parameter place: what it happened to: a file beneath the cloud, a zone, a record; never a value.
    public init(
        _ code: Code, at place: String, _ reason: String, hint: String? = nil, isRetryable: Bool = false, retryAfter: Duration? = nil,
        partialErrors: [String: CloudError] = [:], conflict: RecordConflict? = nil, zoneDeletion: ZoneDeletion? = nil
    ) {
        self.code = code
        self.place = place
        self.reason = reason
        self.hint = hint
        self.isRetryable = isRetryable
        self.retryAfter = retryAfter
        self.partialErrors = partialErrors
        self.conflict = conflict
        self.zoneDeletion = zoneDeletion
    }

    /// One line for people and logs. A `partialFailure` speaks of its cause, never of itself alone.
    public var description: String {
        "\(place): \(reason)" + (hint.map { "; hint: \($0)" } ?? "")
    }
}
