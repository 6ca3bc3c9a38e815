public import SnapshotVersions
import StrictText

/// The result of `migrate`, or its expected result in a dry run.
public struct MigrationReport: Sendable, Encodable {
    /// The result for one dataset.
    public struct Dataset: Sendable, Encodable {
        public let name: String
        /// How many files held an entity of the dataset.
        public let files: Int
        /// How many entities are new here.
        public let added: Int
        /// How many replaced a row here because they are later.
        public let replaced: Int
        /// How many were skipped because the row here is as late or later.
        public let older: Int
        /// How many were skipped because another file has the same key and is as late or later.
        public let duplicates: Int
        /// Fields that the dataset's schema does not have. They were left out.
        public let unknownFields: [String]
    }

    /// A file that could not be migrated.
    public struct BadFile: Sendable, Encodable {
        /// The path relative to the directory.
        public let file: String
        public let reason: String
    }

    public let database: String
    public let directory: String
    /// Whether this was a dry run, which changes nothing.
    public let isDryRun: Bool
    public let datasets: [Dataset]
    /// Files that could not be migrated. They were skipped if the caller asked for that.
    public let badFiles: [BadFile]
    /// Files that are no records, because their names do not end in `.json`.
    public let otherFiles: [String]

    /// The error for bad files; nil if there are none.
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
