import CloudStore

/// A cloud at which a test has a hand in each publishing.
struct ScriptedCloud: CloudDatabaseDecorator {
    struct Crash: Error {}

    let wrapped: any CloudDatabase
    /// A commit was prepared: rows were read, and what is changed from here on is not in it.
    var prepared: @Sendable () async throws -> Void = {}
    /// The commit is about to be put in place.
    var publishing: @Sendable () async throws -> Void = {}
    /// It is in place.
    var published: @Sendable () async throws -> Void = {}

    func prepare(_ draft: CommitDraft, after token: ChangeToken?, in zone: ZoneID) async throws -> PreparedCommit {
        let commit = try await wrapped.prepare(draft, after: token, in: zone)
        try await prepared()
        return commit
    }

    func publish(_ commit: PreparedCommit) async throws -> ChangeToken {
        try await publishing()
        let token = try await wrapped.publish(commit)
        try await published()
        return token
    }
}
