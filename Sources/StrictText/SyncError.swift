/// The one error type of a sync: which step failed, where, why, and what to do next.
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
    public package(set) var step: SyncStep?
    /// What the error is about: a dataset, a file, a zone, a row's number. No error contains a row's values, except its key.
    public package(set) var place: String
    /// What happened and why.
    public package(set) var reason: String
    /// What to do next; nil if there is no advice.
    public package(set) var hint: String?
    /// The individual problems that the error lists, as sentences; empty if `reason` is complete.
    public private(set) var details: [String] = []
    /// What is wrong with the local database; nil for other errors.
    package private(set) var database: DatabaseFault?
    /// What is wrong with an asset, an index, a foreign file or a row; nil for other errors.
    package private(set) var format: FormatFault?
    /// The error of the cloud that this error was made of.
    package var cause: (any Error)?
    /// Whether only the request was wrong. Syncing still works, so `status` records no failure.
    package private(set) var isSlip = false

    /// The exit status of a command that ends with the error: that of the code, but 64 for a wrong request.
    package var exitStatus: Int32 { isSlip && code == .refused ? 64 : code.exitStatus }

    /// Whether the same call may succeed later without any change.
    public var isRetryable: Bool { code == .tryAgainLater }
    /// Whether a row of the database cannot be written as an entity, or cannot be stored.
    package var isBadRow: Bool { database == .badRow || format == .badRow || format == .tooLarge }

    public init(_ code: Code, step: SyncStep? = nil, at place: String, _ reason: String, hint: String? = nil) {
        self.code = code
        identifier = "sync.\(code.name)"
        self.step = step
        self.place = place
        self.reason = reason
        self.hint = hint
    }

    /// An error of the local database.
    package init(database fault: DatabaseFault, at place: String, _ reason: String, hint: String? = nil) {
        self.init(fault.code, step: fault.step, at: place, reason, hint: hint)
        identifier = "database.\(fault)"
        database = fault
    }

    /// An error of the format of what travels.
    package init(format fault: FormatFault, at place: String, _ reason: String, hint: String? = nil) {
        self.init(fault.code, at: place, reason, hint: hint)
        if let row = fault.identifier { identifier = row }
        format = fault
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
        try container.encode(exitStatus, forKey: .exitCode)
    }
}

/// The verbs of an export (read, encode, compress, store, announce) and of an import (fetch, verify, decompress, decode, apply). Whatever reads the
/// database is `read`, whatever writes to it `apply`.
public enum SyncStep: String, Sendable {
    case open, read, encode, compress, store, announce, fetch, verify, decompress, decode, apply
}

extension SyncError {
    /// What can be wrong with the local database.
    package enum DatabaseFault: Sendable, CaseIterable {
        /// There is no such file.
        case notFound
        /// The file is not a SQLite database, or is damaged.
        case damaged
        /// Another program holds the database's lock.
        case busy
        /// Another run of this program works on the same database.
        case running
        case permissionDenied, diskFull, inputOutput
        /// The database was not set up by `init`.
        case notInitialized
        /// A table does not match its dataset's description.
        case schemaMismatch
        /// A row cannot be synced or cannot be stored.
        case badRow
        /// The new rows violate a foreign key that the database satisfied before.
        case foreignKeyViolated

        var code: Code {
            switch self {
            case .notFound, .notInitialized: .nothingThere
            case .damaged, .badRow, .foreignKeyViolated: .dataRefused
            case .busy, .running: .tryAgainLater
            case .permissionDenied: .permissionDenied
            case .schemaMismatch: .refused
            case .diskFull, .inputOutput: .inputOutput
            }
        }

        /// The step that always fails so; nil if it depends.
        var step: SyncStep? { [.notFound, .running, .notInitialized].contains(self) ? .open : nil }
    }

    /// What can be wrong with an asset, an index, a foreign file or a row.
    package enum FormatFault: Sendable, CaseIterable {
        /// A row of the database cannot be written as an entity.
        case badRow
        /// Keys do not come in strictly ascending order.
        case outOfOrder
        /// A key, an entity or a declared size is beyond its limit.
        case tooLarge
        /// The bytes end too early.
        case truncated
        /// The bytes do not match the hash in the index.
        case hashMismatch
        /// The bytes violate the format.
        case damaged
        /// An entity violates its dataset's schema.
        case badEntity
        /// The file has a newer format version than this program knows.
        case unsupportedVersion
        /// The file is not a container of a known dataset.
        case notAContainer
        /// The caller combined parts that do not belong together.
        case misuse
        /// This device does not have the key of the sealed data.
        case keyUnavailable
        /// The compression library failed.
        case compression
        /// The compression library found no memory.
        case outOfMemory

        var code: Code {
            switch self {
            case .unsupportedVersion, .misuse, .keyUnavailable: .refused
            case .compression: .inputOutput
            case .outOfMemory: .tryAgainLater
            default: .dataRefused
            }
        }

        /// The row of ``ErrorTable``; nil if the row of the code is as precise.
        var identifier: String? {
            switch self {
            case .badRow: "database.badRow"
            case .tooLarge, .notAContainer: "data.\(self)"
            case .unsupportedVersion: "cloud.incompatibleVersion"
            case .keyUnavailable: "cloud.keyUnavailable"
            case .truncated, .hashMismatch, .damaged, .badEntity, .outOfOrder: "cloud.damaged"
            case .misuse, .compression, .outOfMemory: nil
            }
        }
    }
}
