public import SnapshotVersions

/// What `doctor` found of a database and its cloud, or of a cloud alone: each finding with what it means and what mends it.
public struct DoctorReport: Sendable, Encodable {
    /// One thing that was looked at.
    public struct Finding: Sendable, Encodable, Hashable {
        /// How much a finding matters.
        public enum Severity: String, Sendable, Encodable, CaseIterable, Comparable {
            /// As it should be.
            case ok
            /// Worth knowing; nothing is to be done, or it passes by itself.
            case notice
            /// Something waits, or will not go on as it is.
            case warning
            /// Syncing fails, or would lose something.
            case error

            public static func < (one: Severity, other: Severity) -> Bool { rank(one) < rank(other) }
            private static func rank(_ severity: Severity) -> Int { allCases.firstIndex(of: severity) ?? 0 }
        }

        /// What was looked at: `triggers`, `clock`. The same thing has the same name always; several findings may have one.
        public let id: String
        public let severity: Severity
        /// What was found, in words.
        public let found: String
        /// What that means; nil where all is well.
        public let meaning: String?
        /// What mends it, a command where one does; nil where nothing is to be done.
        public let remedy: String?
        /// The name of a ``SyncError/Code``, for a warning or an error; nil otherwise.
        public let code: String?
    }

    /// The database; nil if a cloud was looked at alone.
    public let database: String?
    public let cloud: String
    public let zone: String
    /// In the order in which things were looked at: the directory, the zone, its devices, the database, its syncing.
    public let findings: [Finding]
    /// The name of the ``SyncError/Code`` of the finding that matters most; nil if no finding is a warning or an error.
    public let worst: String?

    init(database: String?, cloud: String, zone: String, findings: [Finding]) {
        self.database = database
        self.cloud = cloud
        self.zone = zone
        self.findings = findings
        worst = Self.order.map(\.name).first { name in findings.contains { $0.code == name } }
    }

    /// The code of the finding that matters most.
    public var worstCode: SyncError.Code? { worst.map(SyncError.Code.init) }

    /// From what matters most to what matters least.
    private static let order: [SyncError.Code] = [.dataRefused, .cloudUnavailable, .nothingThere, .permissionDenied, .inputOutput, .refused, .tryAgainLater]
}

extension DoctorReport.Finding {
    static func ok(_ id: String, _ found: String) -> Self { Self(id: id, severity: .ok, found: found, meaning: nil, remedy: nil, code: nil) }

    static func notice(_ id: String, _ found: String, means meaning: String, do remedy: String? = nil) -> Self {
        Self(id: id, severity: .notice, found: found, meaning: meaning, remedy: remedy, code: nil)
    }

    static func warning(_ id: String, _ code: SyncError.Code, _ found: String, means meaning: String, do remedy: String?) -> Self {
        Self(id: id, severity: .warning, found: found, meaning: meaning, remedy: remedy, code: code.name)
    }

    static func error(_ id: String, _ code: SyncError.Code, _ found: String, means meaning: String, do remedy: String?) -> Self {
        Self(id: id, severity: .error, found: found, meaning: meaning, remedy: remedy, code: code.name)
    }

    /// An error that a look ended with.
    static func error(_ id: String, _ error: SyncError, means meaning: String) -> Self {
        let passes = error.code == .tryAgainLater
        return Self(
            id: id, severity: passes ? .warning : .error, found: "\(error.place): \(error.reason)", meaning: meaning, remedy: remedy(error.hint),
            code: error.code.name)
    }

    /// What an error advises, for who has come to the doctor already.
    static func remedy(_ hint: String?) -> String? {
        guard let hint, hint.contains("snapsync doctor") else { return hint }
        return "bring the file back from a copy of the directory; snapsync verify --all names all that is damaged"
    }
}
