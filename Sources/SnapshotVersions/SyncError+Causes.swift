public import CloudStore
package import LocalStore
public import SnapshotModel
public import StrictText

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
        case let error as SyncError:
            self = error
            self.step = error.step ?? step
        case let error as CloudError:
            self.init(Self.code(of: error.cause), step: step, at: error.place, error.reason, hint: error.hint)
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
