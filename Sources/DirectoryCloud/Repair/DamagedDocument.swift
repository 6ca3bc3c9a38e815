package import CloudStore
import CommitLog
import Platform

/// A commit or a checkpoint that is missing or has other bytes than it must have, and those bytes, if they can be had.
package struct DamagedDocument: Sendable {
    package enum Kind: String, Sendable { case commit, checkpoint }

    package let kind: Kind
    package let number: Int
    package let isMissing: Bool
    /// What is wrong with it.
    package let reason: String
    /// The bytes that it must have; nil if they could not be found.
    package let mended: [UInt8]?
    /// Where they come from, in words.
    package let source: String?

    /// Beneath the zone.
    package var path: String { "\(kind == .commit ? CloudNames.commits : CloudNames.checkpoints)/\(CloudNames.digits(number)).json" }
}

/// A zone's history with the bytes that damaged documents must have in their places.
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

/// A directory cloud whose damaged commits and checkpoints read as they must be: what `repair` looks at, before it has written any.
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
