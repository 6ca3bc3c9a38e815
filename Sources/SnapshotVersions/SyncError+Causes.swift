public import CloudStore
import LocalTables
public import SnapshotModel
public import StrictText

// An error names the step by itself: a read of the database, a write, or a call of the cloud. Only what does not is given one here.
extension SyncError {
    /// Runs `body`; every error that it throws becomes a ``SyncError``, which names `step` if it has named none.
    package static func at<T>(_ step: SyncStep, _ body: () throws -> T) throws -> T {
        do { return try body() } catch { throw SyncError(error, step: step) }
    }

    /// Converts an error of any module. It names `step` if it has named none.
    package init(_ error: any Error, step: SyncStep = .open) {
        switch error {
        case let error as SyncError:
            self = error
            self.step = error.step ?? step
        case let error as CloudError:
            self.init(Self.code(of: error.cause), step: error.step ?? step, at: error.place, error.reason, hint: error.hint)
            identifier = error.cause.code.entry.identifier
            cause = error
        case let error as SchemaError:
            self.init(.refused, step: step, at: "dataset file", error.description, hint: "correct the dataset file")
            identifier = SchemaError.identifier
        case is CancellationError:
            self.init(.inputOutput, step: step, at: "snapsync", "the task was cancelled")
            identifier = CloudError.Code.operationCancelled.entry.identifier
        case let error as DecodingError:
            self.init(.dataRefused, step: step, at: "snapsync", DatasetFile.explain(error), hint: "correct the file that was given")
        default:
            if let error = SyncError(ofSQLite: error, at: "the database") {
                self.init(error, step: step)
            } else {
                self.init(.inputOutput, step: step, at: "snapsync", "\(error)")
            }
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
}

extension SyncError {
    /// The error of the cloud that this error was made of.
    package var cloud: CloudError? { cause as? CloudError }
    /// How long to wait before trying again; nil if the cloud did not say.
    public var retryAfter: Duration? { cloud?.retryAfter }
}

extension SyncError: PresentableErrorConvertible {
    public func presentable(in language: ErrorLanguage) -> PresentableError {
        PresentableError(identifier: identifier, in: language, details: description, isRetryable: isRetryable, retryAfter: retryAfter)
    }
}

extension SchemaError: PresentableErrorConvertible {
    static let identifier = "data.badDescription"

    package func presentable(in language: ErrorLanguage) -> PresentableError {
        PresentableError(identifier: Self.identifier, in: language, details: description)
    }
}
