public import CloudStore
package import LocalStore
package import SnapshotFormat
public import SnapshotModel
import StrictText

/// The one error type of the engine: which step failed, where, why, and what to do next.
public struct SyncError: Error, Sendable, CustomStringConvertible {
    /// What has to happen before the same call can succeed.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let name: String

        /// Data was refused: it is damaged or rolled back, or a row cannot be written as an entity.
        public static let dataRefused = Code(name: "dataRefused")
        /// The requested item does not exist.
        public static let nothingThere = Code(name: "nothingThere")
        /// The cloud does not exist or cannot be reached.
        public static let cloudUnavailable = Code(name: "cloudUnavailable")
        /// Reading or writing failed, for example because the disk is full.
        public static let inputOutput = Code(name: "inputOutput")
        /// The same call may succeed later without any change.
        public static let tryAgainLater = Code(name: "tryAgainLater")
        public static let permissionDenied = Code(name: "permissionDenied")
        /// A guard or the configuration forbids the operation.
        public static let refused = Code(name: "refused")

        public init(name: String) { self.name = name }
        public var description: String { name }

        /// The codes that a command can end with.
        package static let all: [Code] = [.dataRefused, .nothingThere, .cloudUnavailable, .inputOutput, .tryAgainLater, .permissionDenied, .refused]

        /// The exit status of a command that ends with the code, following sysexits.h.
        package var exitStatus: Int32 {
            switch self {
            case .dataRefused: 65
            case .nothingThere: 66
            case .cloudUnavailable: 69
            case .tryAgainLater: 75
            case .permissionDenied: 77
            case .refused: 78
            default: name == "usage" ? 64 : 74
            }
        }
    }

    public let code: Code
    /// The row of ``ErrorTable`` that fits best: the row of the cause, such as `cloud.quotaExceeded`, else the row of the code, such as
    /// `sync.refused`.
    public package(set) var identifier: String
    /// The step that failed; nil if no step had begun.
    public let step: SyncStep?
    /// What the error is about: a dataset, a file, a zone.
    public let place: String
    /// What happened and why.
    public let reason: String
    /// What to do next; nil if there is no advice.
    public package(set) var hint: String?
    /// How long to wait before trying again; nil if the cloud did not say.
    public private(set) var retryAfter: Duration?
    /// The individual problems that the error lists, as sentences; empty if `reason` is complete.
    public private(set) var details: [String] = []
    /// The successor of the zone, if the zone has moved, and the last version that this device and the zone have in common, if the device has
    /// another one.
    package var move: ZoneSuccessor?
    /// Whether a file in the cloud is incomplete because a sync tool is still writing it.
    package var isArriving = false
    /// Whether no answer came from the cloud, so that the operation may have been done or may still be done.
    package private(set) var isOutcomeUnknown = false
    /// Whether a row of the database cannot be written as an entity.
    package private(set) var isBadRow = false
    /// Whether only the request was wrong. Syncing still works, so `status` records no failure.
    package private(set) var isSlip = false

    /// Whether the same call may succeed later without any change.
    public var isRetryable: Bool { code == .tryAgainLater }

    public init(_ code: Code, step: SyncStep? = nil, at place: String, _ reason: String, hint: String? = nil) {
        self.code = code
        identifier = "sync.\(code.name)"
        self.step = step
        self.place = place
        self.reason = reason
        self.hint = hint
    }

    /// The same error, marked as a mistake of the request and not of syncing.
    package var asSlip: SyncError {
        var error = self
        error.isSlip = true
        return error
    }

    /// The same error with a list of individual problems.
    package func with(details: [String]) -> SyncError {
        var error = self
        error.details = details
        return error
    }

    public var description: String {
        (step.map { "\($0.rawValue) failed: " } ?? "") + "\(([place + ": " + reason] + details).joined(separator: "; "))" + (hint.map { "; hint: \($0)" } ?? "")
    }
}

extension SyncError: Encodable {
    private enum CodingKeys: String, CodingKey { case code, identifier, step, place, reason, details, hint, isRetryable, exitCode }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(code.name, forKey: .code)
        try container.encode(identifier, forKey: .identifier)
        try container.encodeIfPresent(step?.rawValue, forKey: .step)
        try container.encode(place, forKey: .place)
        try container.encode(reason, forKey: .reason)
        try container.encode(details, forKey: .details)
        try container.encodeIfPresent(hint, forKey: .hint)
        try container.encode(isRetryable, forKey: .isRetryable)
        try container.encode(code.exitStatus, forKey: .exitCode)
    }
}

/// The verbs of an export (read, encode, compress, store, announce) and of an import (fetch, verify, decompress, decode, apply).
public enum SyncStep: String, Sendable {
    case open, read, encode, compress, store, announce, fetch, verify, decompress, decode, apply
}

extension SyncError {
    /// Runs `body`; every error that it throws becomes a ``SyncError`` that names the step.
    package static func at<T>(_ step: SyncStep, _ body: () throws -> T) throws -> T {
        do { return try body() } catch { throw SyncError(error, step: step) }
    }

    /// Awaits `body`; every error that it throws becomes a ``SyncError`` that names the step.
    package static func at<T>(_ step: SyncStep, _ body: () async throws -> T) async throws -> T {
        do { return try await body() } catch { throw SyncError(error, step: step) }
    }

    /// Converts an error of any module.
    package init(_ error: any Error, step: SyncStep) {
        switch error {
        case let error as SyncError: self = error
        case let error as CloudError:
            self.init(Self.code(of: error.cause), step: step, at: error.place, error.reason, hint: error.hint)
            identifier = error.cause.code.entry.identifier
            retryAfter = error.retryAfter
            move = error.successor
            isArriving = error.isArriving
            isOutcomeUnknown = error.code == .serverResponseLost
        case let error as LocalStoreError:
            self.init(Self.code(of: error), step: step, at: error.place, error.reason, hint: error.hint)
            identifier = "database.\(error.code.name)"
            isBadRow = error.code == .badRow
        case let error as FormatError:
            self.init(error, step: step, at: error.place, error.reason, hint: error.hint)
            isBadRow = error.code == .badRow || error.code == .tooLarge
        case let error as SchemaError:
            self.init(.refused, step: step, at: "dataset file", error.description, hint: "correct the dataset file")
            identifier = SchemaError.identifier
        case is CancellationError:
            self.init(.inputOutput, step: step, at: "snapsync", "the task was cancelled")
            identifier = CloudError.Code.operationCancelled.entry.identifier
        case let error as DecodingError:
            self.init(.dataRefused, step: step, at: "snapsync", DatasetFile.explain(error), hint: "correct the file that was given")
        default:
            if let error = LocalStoreError(ofSQLite: error, at: "the database") {
                self.init(error, step: step)
            } else {
                self.init(.inputOutput, step: step, at: "snapsync", "\(error)")
            }
        }
    }

    /// Converts an error of the format, with another place, reason or hint.
    package init(_ error: FormatError, step: SyncStep, at place: String, _ reason: String, hint: String?) {
        self.init(Self.code(of: error), step: step, at: place, reason, hint: hint)
        if let identifier = Self.identifier(of: error) { self.identifier = identifier }
    }

    /// The row of ``ErrorTable`` for an error of the format; nil if the row of the code is as precise.
    private static func identifier(of error: FormatError) -> String? {
        switch error.code {
        case .badRow: "database.badRow"
        case .tooLarge: "data.tooLarge"
        case .notAContainer: "data.notAContainer"
        case .unsupportedVersion: CloudError.Code.incompatibleVersion.entry.identifier
        case .keyUnavailable: CloudError.Code.keyUnavailable.entry.identifier
        case .truncated, .hashMismatch, .damaged, .badEntity, .outOfOrder: CloudError.Code.damaged.entry.identifier
        default: nil
        }
    }

    private static func code(of error: FormatError) -> Code {
        switch error.code {
        case .unsupportedVersion, .misuse, .keyUnavailable: .refused
        case .compression: error.isRetryable ? .tryAgainLater : .inputOutput
        default: .dataRefused
        }
    }

    private static func code(of error: CloudError) -> Code {
        switch error.code {
        case .cloudUnavailable: .cloudUnavailable
        case .notACloud, .zoneNotFound, .unknownItem: .nothingThere
        case .userDeletedZone, .zoneMoved, .limitExceeded, .notAuthenticated, .keyUnavailable: .refused
        case .badContainer, .incompatibleVersion, .notAuthorized, .clockUnusable, .invalidArguments, .changeTokenExpired: .refused
        case .rolledBack, .damaged, .untrusted: .dataRefused
        case .pending, .serverResponseLost, .serverRecordChanged, .zoneBusy, .requestRateLimited, .accountTemporarilyUnavailable: .tryAgainLater
        case .permissionFailure, .managedAccountRestricted: .permissionDenied
        default: .inputOutput
        }
    }

    private static func code(of error: LocalStoreError) -> Code {
        switch error.code {
        case .notFound: .nothingThere
        case .damaged, .badRow, .foreignKeyViolated: .dataRefused
        case .busy, .running: .tryAgainLater
        case .permissionDenied: .permissionDenied
        case .notInitialized, .schemaMismatch: .refused
        default: .inputOutput
        }
    }
}

extension SyncError: PresentableErrorConvertible {
    public func presentable(in language: ErrorLanguage) -> PresentableError {
        PresentableError(identifier: identifier, in: language, details: description, isRetryable: isRetryable, retryAfter: retryAfter)
    }
}

extension SchemaError: PresentableErrorConvertible {
    static let identifier = "data.badDescription"

    public func presentable(in language: ErrorLanguage) -> PresentableError {
        PresentableError(identifier: Self.identifier, in: language, details: description)
    }
}

// Errors of the database and the cloud become a `SyncError` here, which names the step.

extension LocalDatabase {
    /// Reads in one transaction; errors name the step.
    package func read<T>(at step: SyncStep, _ body: (LocalTransaction) throws -> T) throws -> T { try SyncError.at(step) { try read(body) } }

    /// Writes in one transaction; errors name the step.
    package func write<T>(at step: SyncStep, _ body: (LocalTransaction) throws -> T) throws -> T { try SyncError.at(step) { try write(body) } }
}

extension ReadSession {
    /// Calls `body` with a reader; errors name the step.
    package func withReader<T>(_ number: Int, at step: SyncStep, _ body: (DatasetReader) throws -> T) throws -> T {
        try SyncError.at(step) { try withReader(number, body) }
    }
}

extension CloudDatabase {
    /// Calls `body` with this cloud; errors name the step.
    ///
    ///     let state = try await cloud.at(.fetch) { try await $0.records(in: zone) }
    package func at<T>(_ step: SyncStep, _ body: (CloudDatabase) async throws -> T) async throws -> T {
        do { return try await body(self) } catch { throw SyncError(error, step: step) }
    }

    /// Begins an asset; errors name the step "store".
    package func storing(_ record: String, number: Int, kind: AssetKind, in zone: ZoneID) async throws -> sending any AssetWriter {
        do { return try await newAsset(for: record, number: number, kind: kind, in: zone) } catch { throw SyncError(error, step: .store) }
    }

    /// The mailbox of this cloud, with errors that name a step.
    package func at(_ step: SyncStep) -> MailboxStep { MailboxStep(cloud: self, step: step) }
}

/// The calls of a mailbox, with errors that name a step.
package struct MailboxStep: Sendable {
    fileprivate let cloud: CloudDatabase
    fileprivate let step: SyncStep

    package func mailbox(of sender: String? = nil, in zone: ZoneID) async throws -> CloudMailbox {
        try await cloud.at(step) { try await $0.mailbox(of: sender, in: zone) }
    }

    package func removeMessage(_ message: CloudMessageName, in zone: ZoneID) async throws {
        try await cloud.at(step) { try await $0.removeMessage(message, in: zone) }
    }
}
