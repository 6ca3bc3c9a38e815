import GRDB
package import SnapshotModel
package import StrictText

/// Why the last run failed, for reports.
package struct RunFailure: Hashable, Sendable, Codable {
    package let at: Instant
    /// The engine's name for the kind of error.
    package let code: String
    package let step: String?
    package let place: String
    package let reason: String
    package let hint: String?

    package init(at: Instant, code: String, step: String?, place: String, reason: String, hint: String?) {
        (self.at, self.code, self.step, self.place, self.reason, self.hint) = (at, code, step, place, reason, hint)
    }
}

/// The directions of a run.
package enum RunKind: String, Sendable {
    case export = "lastExport"
    case `import` = "lastImport"
}

/// When a run succeeded, and how long it took.
package struct RunRecord: Hashable, Sendable, Codable {
    package let at: Instant
    package let microseconds: Int64

    package init(at: Instant, microseconds: Int64) { (self.at, self.microseconds) = (at, microseconds) }
}

extension RunKind {
    /// The direction of a role's regular runs. The other direction runs only on request.
    package init(of role: SyncRole) { self = role.publishes ? .export : .import }
}

extension LocalDatabase {
    /// Records a failure, unless another program holds the database's lock: recording is not worth another wait of ten seconds.
    ///
    /// - Throws: ``SyncError`` if the record could not be written.
    package func record(_ failure: RunFailure) throws {
        try withoutWaiting { try $0.state.lastFailure.set(failure) }
    }
}
