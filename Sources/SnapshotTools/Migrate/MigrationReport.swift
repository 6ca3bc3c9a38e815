public import SnapshotVersions
import StrictText

/// What `migrate` brought over, or would.
public struct MigrationReport: Sendable, Encodable {
    /// What became of one dataset's files.
    public struct Dataset: Sendable, Encodable {
        public let name: String
        /// How many files held an entity of it.
        public let files: Int
        /// How many entities are new here.
        public let added: Int
        /// How many replaced one that was here, for they are later.
        public let replaced: Int
        /// How many were left out, for the one here is as late or later.
        public let older: Int
        /// How many were left out, for another file has the same key and is as late or later.
        public let duplicates: Int
        /// Fields that the dataset does not know and that were left out.
        public let unknownFields: [String]
    }

    /// A file that could not be brought over.
    public struct BadFile: Sendable, Encodable {
        /// The path beneath the directory.
        public let file: String
        public let reason: String
    }

    public let database: String
    public let directory: String
    /// Whether nothing was changed, for only the answer was wanted.
    public let isDryRun: Bool
    public let datasets: [Dataset]
    /// Files that could not be brought over: skipped, where that was asked for.
    public let badFiles: [BadFile]
    /// Files that are no records: their names do not end in `.json`.
    public let otherFiles: [String]

    /// The refusal that bad files are, where they are not to be skipped.
    public var refusal: SyncError? { badFiles.isEmpty ? nil : Self.refusal(badFiles, at: directory) }

    static func refusal(_ bad: [BadFile], at directory: String) -> SyncError {
        let named = bad.prefix(3).map { "\($0.file): \($0.reason)" }.joined(separator: "; ")
        let more = bad.count > 3 ? "; and \(bad.count - 3) more" : ""
        return SyncError(
            .dataRefused, step: .decode, at: directory,
            "\(Format.count(bad.count, "file")) cannot be brought over: \(named)\(more); nothing was changed",
            hint: "--dry-run lists all of them; mend them, or leave them out with --skip-bad")
    }
}
