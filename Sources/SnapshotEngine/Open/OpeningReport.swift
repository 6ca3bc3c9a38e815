public import SnapshotVersions

/// The level at which a store was opened, and why no higher level was possible.
public struct OpeningReport: Sendable, Encodable {
    /// What a store works with.
    public enum Level: String, Sendable, Encodable {
        /// The database and the cloud.
        case cloud
        /// Only the database. It syncs as soon as the problem with the cloud is gone.
        case local
        /// Only the database, because the application wants no cloud
        /// (``SnapshotStore/localOnly(database:createsDatabase:createsTables:logger:now:)``).
        case localOnly
        /// An in-memory replacement. It is lost when the program ends, and never published.
        case inMemory
    }

    /// A level that could not be reached.
    public struct Step: Sendable, Encodable {
        /// The kind of problem. It is a struct, so that a new kind breaks no switch statement.
        public struct Kind: Hashable, Sendable, CustomStringConvertible {
            public let name: String

            /// The cloud directory does not exist: it is not mounted, or there is no network.
            public static let cloudMissing = Kind(name: "cloudMissing")
            /// The directory exists but contains no cloud.
            public static let notACloud = Kind(name: "notACloud")
            /// The directory contains another cloud than this database's.
            public static let otherCloud = Kind(name: "otherCloud")
            /// The cloud belongs to another application: its container identifier differs.
            public static let otherContainer = Kind(name: "otherContainer")
            /// The cloud lacks the zone.
            public static let zoneMissing = Kind(name: "zoneMissing")
            /// The gate is closed: the user has not turned sync on, or may not sync.
            public static let gateClosed = Kind(name: "gateClosed")
            /// The database was not set up for syncing.
            public static let notSetUp = Kind(name: "notSetUp")
            /// The database does not exist.
            public static let databaseMissing = Kind(name: "databaseMissing")
            /// The file is no SQLite database, or is damaged.
            public static let databaseDamaged = Kind(name: "databaseDamaged")
            public static let permissionDenied = Kind(name: "permissionDenied")
            /// Anything else; the reason says what.
            public static let failed = Kind(name: "failed")

            public init(name: String) { self.name = name }
            public var description: String { name }
        }

        /// The level that could not be reached: `cloud` or `local`.
        public let level: Level
        public let kind: Kind
        /// The place, the reason, and what to do.
        public let error: SyncError

        private enum CodingKeys: String, CodingKey { case level, kind, code, place, reason, hint }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(level, forKey: .level)
            try container.encode(kind.name, forKey: .kind)
            try container.encode(error.code.name, forKey: .code)
            try container.encode(error.place, forKey: .place)
            try container.encode(error.reason, forKey: .reason)
            try container.encodeIfPresent(error.hint, forKey: .hint)
        }
    }

    /// The requested database.
    public let database: String
    /// The level that was reached.
    public let level: Level
    /// The file to read and write: the database or its replacement.
    public let path: String
    /// Whether that file can only be read.
    public let isReadOnly: Bool
    /// The levels that could not be reached, in order.
    public let givenUp: [Step]
}
