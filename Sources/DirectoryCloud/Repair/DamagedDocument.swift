package import CloudStore
import CommitLog
import Platform

/// A commit or a checkpoint that is missing or has the wrong bytes, and the right bytes if they were found.
package struct DamagedDocument: Sendable {
    package enum Kind: String, Sendable { case commit, checkpoint }

    package let kind: Kind
    package let number: Int
    package let isMissing: Bool
    /// What is wrong with it.
    package let reason: String
    /// The right bytes; nil if they were not found.
    package let mended: [UInt8]?
    /// Where the right bytes come from, as a text.
    package let source: String?

    /// Relative to the zone.
    package var path: String { "\(kind == .commit ? CloudNames.commits : CloudNames.checkpoints)/\(CloudNames.digits(number)).json" }
}

/// A zone's history in which damaged documents are replaced by their right bytes.
struct MendedSource: HistorySource {
    let zone: ZoneFolder
    let commits: [Int: [UInt8]]
    let checkpoints: [Int: [UInt8]]

    init(_ zone: ZoneFolder, _ documents: [DamagedDocument]) {
        func mended(_ kind: DamagedDocument.Kind) -> [Int: [UInt8]] {
            Dictionary(documents.filter { $0.kind == kind }.compactMap { one in one.mended.map { (one.number, $0) } }, uniquingKeysWith: { first, _ in first })
        }
        self.zone = zone
        commits = mended(.commit)
        checkpoints = mended(.checkpoint)
    }

    var history: HistoryID { zone.history }
    var ends: VerifiedHeadCache { zone.ends }
    var authority: ZoneAuthority { zone.authority }
    func commitBytes(_ number: Int) throws -> [UInt8]? { try commits[number] ?? zone.commitBytes(number) }
    func checkpointBytes(_ number: Int) throws -> [UInt8]? { try checkpoints[number] ?? zone.checkpointBytes(number) }
    func makeCommitsDurable() throws { try zone.makeCommitsDurable() }
    func commitNumbers() throws -> [Int] { try Set(commits.keys).union(zone.commitNumbers()).sorted() }
    func checkpointNumbers() throws -> [Int] { try Set(checkpoints.keys).union(zone.checkpointNumbers()).sorted() }
}

/// A directory cloud in which damaged commits and checkpoints read as if repaired. `repair` examines it before it writes anything.
package struct MendedCloud: CloudDatabaseDecorator {
    package let directory: DirectoryCloud
    let documents: [DamagedDocument]
    package var wrapped: any CloudDatabase { directory }

    package init(_ directory: DirectoryCloud, _ documents: [DamagedDocument]) {
        self.directory = directory
        self.documents = documents
    }

    package func history(in zone: ZoneID) async throws -> [Commit] {
        try await directory.inZone(zone) { [documents] in try HistoryReader(source: MendedSource($0, documents)).all() }
    }

    package func records(in zone: ZoneID, at number: Int?, notBefore token: ChangeToken?) async throws -> ZoneState {
        try await directory.inZone(zone) { [documents] in try HistoryReader(source: MendedSource($0, documents)).state(at: number, notBefore: token) }
    }

    package func records(in zone: ZoneID, of checkpoint: CheckpointReference) async throws -> ZoneState {
        try await directory.inZone(zone) { [documents] in try HistoryReader(source: MendedSource($0, documents)).state(of: checkpoint) }
    }
}
