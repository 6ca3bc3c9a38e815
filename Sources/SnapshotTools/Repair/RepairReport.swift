/// What `repair` did, or would do with `dryRun`, and what it could not repair.
public struct RepairReport: Sendable, Encodable {
    /// A repaired file.
    public struct Mended: Sendable, Encodable {
        /// The path relative to the zone's directory.
        public let file: String
        /// `commit`, `checkpoint`, `index`, `snapshot` or `changes`; `fork` for a commit that got its plain name back from another device's
        /// commit.
        public let kind: String
        /// Whether the file was missing rather than damaged.
        public let wasMissing: Bool
        /// The blocks of a snapshot asset that were damaged, from 0.
        public let blocks: [Int]
        /// The sources of the bytes, as sentences.
        public let sources: [String]
        /// The path to which the damaged file was moved; nil if there was none.
        public let setAside: String?
    }

    /// A file that could not be repaired.
    public struct Lost: Sendable, Encodable {
        public let file: String
        public let kind: String
        public let isMissing: Bool
        /// The versions that need it.
        public let versions: [Int]
        /// The blocks for which there is no source, from 0.
        public let blocks: [Int]
        public let reason: String
        /// What to do next.
        public let hint: String
    }

    /// The ``Mended/kind`` of a commit in a fork whose commits were mixed.
    public static let forkKind = "fork"

    public let dryRun: Bool
    public let zone: String
    /// How many files were checked.
    public let checkedFiles: Int
    public let mended: [Mended]
    public let lost: [Lost]
    /// Findings that deserve attention, as sentences.
    public let warnings: [String]
}

/// Formats block numbers for a sentence.
enum BlockWords {
    /// `block 2`, `blocks 2, 5 and 7`.
    static func list(_ blocks: [Int]) -> String {
        let numbers = blocks.map(String.init)
        guard let last = numbers.last, numbers.count > 1 else { return "block " + numbers.joined() }
        return "blocks \(numbers.dropLast().joined(separator: ", ")) and \(last)"
    }
}
