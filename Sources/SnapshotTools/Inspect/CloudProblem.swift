public import SnapshotVersions

/// Why the cloud could not be read, in a report whose local part is known.
public struct CloudProblem: Sendable, Encodable {
    /// The error's code.
    public let code: String
    public let place: String
    public let reason: String
    public let hint: String?
    /// The error itself.
    public var error: SyncError { cause }
    private let cause: SyncError

    init(_ error: SyncError) {
        code = error.code.name
        place = error.place
        reason = error.reason
        hint = error.hint
        cause = error
    }

    private enum CodingKeys: String, CodingKey { case code, place, reason, hint }
}
