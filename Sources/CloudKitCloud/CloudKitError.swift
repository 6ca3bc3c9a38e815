import CloudStore

/// An error of CloudKit: a `CKError`.
public struct CloudKitError: Error, Hashable, Sendable, CustomStringConvertible {
    /// `CKError.Code`, by its number.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int

        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let internalError = Code(rawValue: 1)
        public static let partialFailure = Code(rawValue: 2)
        public static let networkUnavailable = Code(rawValue: 3)
        public static let networkFailure = Code(rawValue: 4)
        public static let badContainer = Code(rawValue: 5)
        public static let serviceUnavailable = Code(rawValue: 6)
        public static let requestRateLimited = Code(rawValue: 7)
        public static let missingEntitlement = Code(rawValue: 8)
        public static let notAuthenticated = Code(rawValue: 9)
        public static let permissionFailure = Code(rawValue: 10)
        public static let unknownItem = Code(rawValue: 11)
        public static let invalidArguments = Code(rawValue: 12)
        public static let serverRecordChanged = Code(rawValue: 14)
        public static let serverRejectedRequest = Code(rawValue: 15)
        public static let assetFileNotFound = Code(rawValue: 16)
        public static let operationCancelled = Code(rawValue: 20)
        public static let changeTokenExpired = Code(rawValue: 21)
        public static let batchRequestFailed = Code(rawValue: 22)
        public static let zoneBusy = Code(rawValue: 23)
        public static let badDatabase = Code(rawValue: 24)
        public static let quotaExceeded = Code(rawValue: 25)
        public static let zoneNotFound = Code(rawValue: 26)
        public static let limitExceeded = Code(rawValue: 27)
        public static let userDeletedZone = Code(rawValue: 28)
        public static let managedAccountRestricted = Code(rawValue: 32)
        public static let serverResponseLost = Code(rawValue: 34)
        public static let assetNotAvailable = Code(rawValue: 35)
        public static let accountTemporarilyUnavailable = Code(rawValue: 36)
    }

    public let code: Code
    /// CloudKit's message, for developers.
    public let message: String
    /// `CKErrorRetryAfterKey`: how long to wait; nil if CloudKit did not say.
    public let retryAfter: Duration?
    /// For `partialFailure`: the error of each failed record, by name. Empty otherwise.
    public let partialErrors: [String: CloudKitError]

    public init(_ code: Code, _ message: String = "", retryAfter: Duration? = nil, partialErrors: [String: CloudKitError] = [:]) {
        (self.code, self.message, self.retryAfter, self.partialErrors) = (code, message, retryAfter, partialErrors)
    }

    /// The name of the code, such as `zoneBusy`.
    public var name: String { ErrorEntry(number: code.rawValue)?.name ?? "CKError \(code.rawValue)" }

    public var description: String { message.isEmpty ? name : "\(name): \(message)" }
}

extension CloudKitError {
    /// The error that explains why one record failed: for `partialFailure`, its own error or that of the record that made the request fail.
    func cause(of record: String?) -> CloudKitError {
        guard code == .partialFailure else { return self }
        if let record, let own = partialErrors[record], own.code != .batchRequestFailed { return own }
        return partialErrors.sorted { $0.key < $1.key }.first { $0.value.code != .batchRequestFailed }?.value ?? self
    }

    /// Whether the same request may be sent again after a pause.
    var isPassing: Bool { isUnsent || mayHaveBeenDone }

    /// Whether the request was certainly not processed and may be sent again.
    private var isUnsent: Bool { [.networkUnavailable, .requestRateLimited, .zoneBusy].contains(code) }

    /// Whether the request may have been processed although it failed.
    var mayHaveBeenDone: Bool { [.networkFailure, .serviceUnavailable, .serverResponseLost, .internalError].contains(code) }

    /// Translates the error for this library.
    ///
    /// - Parameter place: the record or the zone that the request was about.
    func cloudError(at place: String) -> CloudError {
        func error(_ code: CloudError.Code, _ reason: String, hint: String, isRetryable: Bool = false) -> CloudError {
            CloudError(code, at: place, "\(reason) (CloudKit: \(self))", hint: hint, isRetryable: isRetryable, retryAfter: retryAfter)
        }
        switch code {
        case .networkUnavailable, .networkFailure, .serviceUnavailable:
            return error(.cloudUnavailable, "iCloud cannot be reached", hint: "try again later", isRetryable: true)
        case .badContainer: return error(.badContainer, "the container is unknown", hint: "check the container's identifier in the app's capabilities")
        case .requestRateLimited: return error(.requestRateLimited, "there were too many requests", hint: "wait, then try again", isRetryable: true)
        case .zoneBusy: return error(.zoneBusy, "the server is busy with this zone", hint: "wait, then try again", isRetryable: true)
        case .missingEntitlement: return error(.permissionFailure, "the app is not entitled to iCloud", hint: "add the iCloud capability to the app")
        case .notAuthenticated: return error(.notAuthenticated, "nobody is signed in to iCloud", hint: "sign in; what was changed here is kept")
        case .permissionFailure: return error(.permissionFailure, "iCloud does not allow it", hint: "ask the owner of the data for permission")
        case .invalidArguments, .badDatabase:
            return error(.invalidArguments, "the request is not allowed", hint: "check the record type and its indexes in the CloudKit console")
        case .quotaExceeded: return error(.quotaExceeded, "the user's iCloud storage is full", hint: "make room, then try again; nothing was lost")
        case .zoneNotFound: return error(.zoneNotFound, "there is no such zone", hint: "create the zone first")
        case .limitExceeded: return error(.limitExceeded, "the request is too large", hint: "split it")
        case .userDeletedZone: return error(.userDeletedZone, "the user has deleted the app's data in iCloud", hint: "ask the user, then set sync up again")
        case .managedAccountRestricted: return error(.managedAccountRestricted, "the account may not use iCloud", hint: "ask whoever manages the account")
        case .serverResponseLost: return error(.serverResponseLost, "the answer was lost", hint: "try again", isRetryable: true)
        case .assetNotAvailable: return error(.pending, "the asset has not arrived yet", hint: "try again later", isRetryable: true)
        case .accountTemporarilyUnavailable:
            return error(.accountTemporarilyUnavailable, "the account cannot be used just now", hint: "try again later, or sign in again", isRetryable: true)
        case .operationCancelled: return error(.operationCancelled, "the request was cancelled", hint: "start it again")
        default: return error(.inputOutput, "iCloud refused the request", hint: "try again later", isRetryable: code == .internalError)
        }
    }
}
