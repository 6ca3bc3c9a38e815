import CloudStore

/// A cloud at which a test has a hand in each publishing.
final class ScriptedCloud: CloudDatabase, @unchecked Sendable {
    struct Crash: Error {}

    private let script: Script
    /// A commit was prepared: rows were read, and what is changed from here on is not in it.
    var prepared: @Sendable () async throws -> Void {
        get { script.prepared }
        set { script.prepared = newValue }
    }
    /// The commit is about to be put in place.
    var publishing: @Sendable () async throws -> Void {
        get { script.publishing }
        set { script.publishing = newValue }
    }
    /// It is in place.
    var published: @Sendable () async throws -> Void {
        get { script.published }
        set { script.published = newValue }
    }

    init(wrapped: CloudDatabase) {
        script = Script()
        super.init(wrapped, adding: script)
    }

    // SAFETY (@unchecked Sendable): a test sets the script before it passes the cloud on.
    private final class Script: CloudLayer, @unchecked Sendable {
        var prepared: @Sendable () async throws -> Void = {}
        var publishing: @Sendable () async throws -> Void = {}
        var published: @Sendable () async throws -> Void = {}

        func willCall(_ call: CloudCall, in zone: ZoneID?) async throws { if case .publish = call { try await publishing() } }

        func didCall(_ call: CloudCall, in zone: ZoneID?) async throws {
            switch call {
            case .prepare: try await prepared()
            case .publish: try await published()
            default: break
            }
        }
    }
}
