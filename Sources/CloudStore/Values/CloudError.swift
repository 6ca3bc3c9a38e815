package import StrictText

/// An error of the cloud, with a text for people and a code for programs.
///
/// What each code means, and what to do about it, is in one table: ``ErrorTable``, docs/errors.md.
public struct CloudError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure. A struct, so that a new code does not break existing switches.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let name: String

        /// The cloud is not reachable: the directory is missing, unmounted, or no longer the one that was opened.
        public static let cloudUnavailable = Code(name: "cloudUnavailable")
        /// The directory exists but is not a cloud.
        public static let notACloud = Code(name: "notACloud")
        /// The place holds a cloud with another UUID than the expected one.
        public static let badContainer = Code(name: "badContainer")
        /// The cloud's format is newer than this program.
        public static let incompatibleVersion = Code(name: "incompatibleVersion")
        /// The zone does not exist.
        public static let zoneNotFound = Code(name: "zoneNotFound")
        /// The zone was deleted in the cloud's settings. Only CloudKit says so.
        public static let userDeletedZone = Code(name: "userDeletedZone")
        /// The zone was moved; ``CloudError/successor`` names the zone that continues it.
        public static let zoneMoved = Code(name: "zoneMoved")
        /// The record, the version or the asset does not exist.
        public static let unknownItem = Code(name: "unknownItem")
        /// Another device has published a commit of that number, or has saved the record since it was fetched.
        public static let serverRecordChanged = Code(name: "serverRecordChanged")
        /// The token's commit was pruned. Start from the newest checkpoint.
        public static let changeTokenExpired = Code(name: "changeTokenExpired")
        /// The zone ends before the token, or its history no longer contains it.
        public static let rolledBack = Code(name: "rolledBack")
        /// A commit has arrived, but its asset has not.
        public static let pending = Code(name: "pending")
        /// Bytes do not match their hash, size or grammar.
        public static let damaged = Code(name: "damaged")
        /// A signature is invalid, or this device does not trust its signer.
        public static let untrusted = Code(name: "untrusted")
        /// The device's private keys are missing, or cannot be used.
        public static let keyUnavailable = Code(name: "keyUnavailable")
        /// The device may not publish here.
        public static let notAuthorized = Code(name: "notAuthorized")
        /// The user does not have the required permission.
        public static let permissionFailure = Code(name: "permissionFailure")
        /// There is no space left.
        public static let quotaExceeded = Code(name: "quotaExceeded")
        /// A clock is outside 2000 to 2100, or differs from the cloud's own by a day or more.
        public static let clockUnusable = Code(name: "clockUnusable")
        /// A name, a field, a query or a size is not allowed.
        public static let invalidArguments = Code(name: "invalidArguments")
        /// Some records of a request failed, each for its own reason: ``CloudError/partialErrors``.
        public static let partialFailure = Code(name: "partialFailure")
        /// This record is valid; another one made the atomic request fail.
        public static let batchRequestFailed = Code(name: "batchRequestFailed")
        /// A request or a record is larger than allowed. Split it.
        public static let limitExceeded = Code(name: "limitExceeded")
        /// Too many requests in a short time; ``CloudError/retryAfter`` says how long to wait.
        public static let requestRateLimited = Code(name: "requestRateLimited")
        /// The answer was lost: the request may have succeeded, and may be sent again.
        public static let serverResponseLost = Code(name: "serverResponseLost")
        /// Other devices published first, several times in a row.
        public static let zoneBusy = Code(name: "zoneBusy")
        /// A reference that requires its target points at a record that does not exist.
        public static let referenceViolation = Code(name: "referenceViolation")
        /// A record names an asset that is not there.
        public static let assetFileNotFound = Code(name: "assetFileNotFound")
        /// A record names an asset that is there with another size or content.
        public static let assetFileModified = Code(name: "assetFileModified")
        /// Nobody is signed in, so a private cloud cannot be used.
        public static let notAuthenticated = Code(name: "notAuthenticated")
        /// The account may not use the cloud.
        public static let managedAccountRestricted = Code(name: "managedAccountRestricted")
        /// There is an account, but it cannot be used at the moment.
        public static let accountTemporarilyUnavailable = Code(name: "accountTemporarilyUnavailable")
        /// The caller cancelled the operation.
        public static let operationCancelled = Code(name: "operationCancelled")
        /// A read or a write failed.
        public static let inputOutput = Code(name: "inputOutput")

        public init(name: String) { self.name = name }
        public var description: String { name }
    }

    public let code: Code
    /// The subject of the error: a file beneath the cloud, a zone, a record.
    public private(set) var place: String
    /// What happened and why.
    public let reason: String
    /// What to do next; nil if there is no advice.
    public let hint: String?
    /// Whether the same request may succeed later, with nothing changed.
    public let isRetryable: Bool
    /// How long to wait before trying again; nil if the cloud did not say.
    public let retryAfter: Duration?
    /// For `partialFailure`: the error of each failed record, by name. Empty otherwise.
    public let partialErrors: [String: CloudError]
    /// For `serverRecordChanged` on one record: the three versions that a merge needs.
    public var conflict: RecordConflict?
    /// For `zoneMoved`: the zone that continues this one.
    public package(set) var successor: ZoneSuccessor?
    /// The step of a sync that the failed call is; nil if the error is of no call.
    package var step: SyncStep?
    /// For `pending`: whether part of the file is already there.
    package var isArriving = false

    /// Makes an error.
    ///
    /// - Parameter place: the subject of the error: a file beneath the cloud, a zone, a record. It must not contain a value.
    public init(
        _ code: Code, at place: String, _ reason: String, hint: String? = nil, isRetryable: Bool = false, retryAfter: Duration? = nil,
        partialErrors: [String: CloudError] = [:]
    ) {
        self.code = code
        self.place = place
        self.reason = reason
        self.hint = hint
        self.isRetryable = isRetryable
        self.retryAfter = retryAfter
        self.partialErrors = partialErrors
    }

    /// One line for people and logs. A `partialFailure` includes its cause.
    public var description: String {
        "\(place): \(reason)" + (hint.map { "; hint: \($0)" } ?? "")
    }
}

extension CloudError {
    package static let damageHint = "bring the file back from a copy, or run snapsync check"

    /// The same error at another place.
    package func moved(to place: String) -> CloudError {
        var moved = self
        moved.place = place
        return moved
    }
}

extension CloudError {
    /// The error that explains this one: for a `partialFailure`, the error of the record that made it fail; otherwise the error itself.
    ///
    /// Among several errors it takes the most serious one: an error that retrying does not fix before one that it does; cancellation after
    /// those, and `batchRequestFailed` last. Equally serious errors are ordered by the records' names, so the answer is deterministic.
    public var cause: CloudError {
        guard code == .partialFailure else { return self }
        let causes = partialErrors.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map(\.value.cause)
        return causes.min { $0.leniency < $1.leniency } ?? self
    }

    private var leniency: Int {
        if code == .batchRequestFailed { return 3 }
        if code == .operationCancelled { return 2 }
        return isRetryable ? 1 : 0
    }

    /// Makes the error of a request in which these records failed, by name; nil if none failed.
    ///
    /// Its reason and whether a retry helps come from the ``cause``.
    public static func partial(_ errors: [String: CloudError], at place: String) -> CloudError? {
        guard !errors.isEmpty else { return nil }
        let cause = CloudError(.partialFailure, at: place, "", partialErrors: errors).cause
        let innocent = errors.values.count { $0.code == .batchRequestFailed }
        let failed = errors.count - innocent
        var reason = "\(failed) of the records failed, the first because: \(cause)"
        if failed <= 1 { reason = "a record failed because: \(cause)" }
        if innocent > 0 { reason += "; nothing was saved" }
        return CloudError(
            .partialFailure, at: place, reason, isRetryable: cause.isRetryable,
            retryAfter: errors.values.compactMap(\.retryAfter).max(), partialErrors: errors)
    }
}

/// The three versions of a record in a conflict.
///
///     catch let error as CloudError where error.code == .serverRecordChanged {
///         if let conflict = error.conflict { merged = merge(conflict) }
///     }
///
/// Start the merged record from ``server``, so that it carries the tag that the cloud expects.
public struct RecordConflict: Hashable, Sendable {
    /// The record as it is in the cloud.
    public let server: CloudRecord
    /// The record that the client tried to save.
    public let client: CloudRecord
    /// The record as the client had fetched it; nil if the client never fetched it and tried to create it.
    package let ancestor: CloudRecord?

    /// Combines the three versions.
    public init(server: CloudRecord, client: CloudRecord, ancestor: CloudRecord?) {
        (self.server, self.client, self.ancestor) = (server, client, ancestor)
    }
}
