public import SnapshotVersions

/// How far a store got when it was opened, and why not further.
public struct OpeningReport: Sendable, Encodable {
    /// What a store works with.
    public enum Level: String, Sendable, Encodable {
        /// The database and the cloud.
        case cloud
        /// The database alone; it syncs as soon as what was in the way is gone.
        case local
        /// The database alone, because the application wants no cloud (``SnapshotStore/localOnly(database:createsDatabase:createsTables:logger:now:)``).
        case localOnly
        /// A stand-in in memory, which goes with the program and is never published.
        case inMemory
    }

    /// One level that was given up.
    public struct Step: Sendable, Encodable {
        /// What stood in the way. A struct, so that a new one breaks nobody's switch.
        public struct Kind: Hashable, Sendable, CustomStringConvertible {
            public let name: String

            /// The cloud directory is not there: not mounted, or no network.
            public static let cloudMissing = Kind(name: "cloudMissing")
            /// The directory is there, and no cloud in it.
            public static let notACloud = Kind(name: "notACloud")
            /// Another cloud stands where this database's should be.
            public static let otherCloud = Kind(name: "otherCloud")
            /// The cloud belongs to another application: its container identifier is not this one's.
            public static let otherContainer = Kind(name: "otherContainer")
            /// The cloud lacks the zone.
            public static let zoneMissing = Kind(name: "zoneMissing")
            /// The gate is closed: the user does not want it, or may not.
            public static let gateClosed = Kind(name: "gateClosed")
            /// The database was not set up for syncing.
            public static let notSetUp = Kind(name: "notSetUp")
            /// There is no such database.
            public static let databaseMissing = Kind(name: "databaseMissing")
            /// The file is no SQLite database, or is damaged.
            public static let databaseDamaged = Kind(name: "databaseDamaged")
            public static let permissionDenied = Kind(name: "permissionDenied")
            /// Anything else; the reason says what.
            public static let failed = Kind(name: "failed")

            public init(name: String) { self.name = name }
            public var description: String { name }
        }

        /// The level that could not be had: `cloud` or `local`.
        public let level: Level
        public let kind: Kind
        /// Where, why, and what to do.
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

    /// The database that was asked for.
    public let database: String
    /// The level that was reached.
    public let level: Level
    /// The file to read and write: the database, or its stand-in.
    public let path: String
    /// Whether that file can only be read.
    public let isReadOnly: Bool
    /// What was given up on the way, in order.
    public let givenUp: [Step]
}
