/// What `repair` did, or with `dryRun` would do, and what it could not.
public struct RepairReport: Sendable, Encodable {
    /// A file that is as its commit says again.
    public struct Mended: Sendable, Encodable {
        /// Beneath the zone's directory.
        public let file: String
        /// `commit`, `checkpoint`, `index`, `snapshot` or `changes`; `fork` for a commit that got its plain name back from another device's.
        public let kind: String
        /// Whether it was missing, not damaged.
        public let wasMissing: Bool
        /// The blocks of a snapshot asset that were damaged, from 0.
        public let blocks: [Int]
        /// Where the bytes came from, in words.
        public let sources: [String]
        /// The path under which the damaged file lies now; nil if there was none.
        public let setAside: String?
    }

    /// A file that could not be brought back.
    public struct Lost: Sendable, Encodable {
        public let file: String
        public let kind: String
        public let isMissing: Bool
        /// The versions that need it.
        public let versions: [Int]
        /// The blocks that are nowhere else, from 0.
        public let blocks: [Int]
        public let reason: String
        /// What to do now.
        public let hint: String
    }

    /// The ``Mended/kind`` of a commit in a fork whose commits were mixed.
    public static let forkKind = "fork"

    public let dryRun: Bool
    public let zone: String
    /// How many files were looked at.
    public let checkedFiles: Int
    public let mended: [Mended]
    public let lost: [Lost]
    /// What deserves attention, in words.
    public let warnings: [String]
}

/// Numbers of blocks in words.
enum BlockWords {
    /// `block 2`, `blocks 2, 5 and 7`.
    static func list(_ blocks: [Int]) -> String {
        let numbers = blocks.map(String.init)
        guard let last = numbers.last, numbers.count > 1 else { return "block " + numbers.joined() }
        return "blocks \(numbers.dropLast().joined(separator: ", ")) and \(last)"
    }
}
