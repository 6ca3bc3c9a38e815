import SnapshotVersions
public import StrictText

/// The findings of `doctor` about a database and its cloud, or a cloud alone, each with its meaning and remedy.
public struct DoctorReport: Sendable, Encodable {
    /// The result of one check.
    public struct Finding: Sendable, Encodable, Hashable {
        /// How much a finding matters.
        public enum Severity: String, Sendable, Encodable, CaseIterable, Comparable {
            /// Everything is in order.
            case ok
            /// Worth knowing; no action is needed, or it resolves itself.
            case notice
            /// Something is pending, or will not continue without action.
            case warning
            /// Syncing fails or would lose data.
            case error

            public static func < (one: Severity, other: Severity) -> Bool { rank(one) < rank(other) }
            private static func rank(_ severity: Severity) -> Int { allCases.firstIndex(of: severity) ?? 0 }
        }

        /// The name of the check, such as `triggers` or `clock`. It is stable; several findings may share one name.
        public let id: String
        public let severity: Severity
        /// What was found, as a sentence.
        public let found: String
        /// What that means; nil if all is well.
        public let meaning: String?
        /// What to do, as a command where there is one; nil if no action is needed.
        public let remedy: String?
        /// The name of a ``SyncError/Code``, for a warning or an error; nil otherwise.
        public let code: String?
    }

    /// The database; nil if only a cloud was examined.
    public let database: String?
    public let cloud: String
    public let zone: String
    /// In the order of the checks: the directory, the zone, its devices, the database, its syncing.
    public let findings: [Finding]
    /// The name of the ``SyncError/Code`` of the most important finding; nil if no finding is a warning or an error.
    public let worst: String?

    init(database: String?, cloud: String, zone: String, findings: [Finding]) {
        self.database = database
        self.cloud = cloud
        self.zone = zone
        self.findings = findings
        worst = Self.order.map(\.name).first { name in findings.contains { $0.code == name } }
    }

    /// The code of the most important finding.
    public var worstCode: SyncError.Code? { worst.map(SyncError.Code.init) }

    /// From the most important code to the least important.
    private static let order: [SyncError.Code] = [.dataRefused, .cloudUnavailable, .nothingThere, .permissionDenied, .inputOutput, .refused, .tryAgainLater]
}

extension DoctorReport.Finding {
    static func ok(_ id: String, _ found: String) -> Self { Self(id: id, severity: .ok, found: found, meaning: nil, remedy: nil, code: nil) }

    static func notice(_ id: String, _ found: String, means meaning: String, do remedy: String? = nil) -> Self {
        Self(id: id, severity: .notice, found: found, meaning: meaning, remedy: remedy, code: nil)
    }

    static func warning(_ id: String, code: SyncError.Code, _ found: String, means meaning: String, do remedy: String?) -> Self {
        Self(id: id, severity: .warning, found: found, meaning: meaning, remedy: remedy, code: code.name)
    }

    static func error(_ id: String, code: SyncError.Code, _ found: String, means meaning: String, do remedy: String?) -> Self {
        Self(id: id, severity: .error, found: found, meaning: meaning, remedy: remedy, code: code.name)
    }

    /// A finding for an error with which a check ended.
    static func error(_ id: String, _ error: SyncError, means meaning: String) -> Self {
        let passes = error.code == .tryAgainLater
        return Self(
            id: id, severity: passes ? .warning : .error, found: "\(error.place): \(error.reason)", meaning: meaning, remedy: remedy(error.hint),
            code: error.code.name)
    }

    /// The error's hint as a remedy. A hint to run `snapsync check` is replaced, because the user is running it.
    static func remedy(_ hint: String?) -> String? {
        guard let hint, hint.exact.contains("snapsync check") else { return hint }
        return "bring the file back from a copy of the directory; snapsync check --all-versions names all that is damaged"
    }
}

/// Lists of names for a sentence, limited to the first few.
enum NameList {
    /// `2 conflict copies: a, b`; of more than five names the first five and `…`.
    static func words(_ names: [String], _ one: String, many: String) -> String {
        "\(Format.count(names.count, one, or: many)): " + names.prefix(5).joined(separator: ", ") + (names.count > 5 ? ", …" : "")
    }
}
