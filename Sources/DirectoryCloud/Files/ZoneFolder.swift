import CloudStore
import CommitLog
import Platform
import StrictText

/// One zone's directory as a ``HistoryStore``: each commit and each checkpoint is one file, each put-if-absent a link.
struct ZoneFolder: HistoryStore {
    let history: HistoryID
    let ends: VerifiedHeadCache
    let info: ZoneInfo
    let folder: CloudFolder
    let files: FileMaker
    var authority = ZoneAuthority()

    func commitBytes(_ number: Int) throws -> [UInt8]? {
        try folder.bytes(of: path(CloudNames.commits, number), limit: CommitDocument.byteLimit)
    }

    func checkpointBytes(_ number: Int) throws -> [UInt8]? {
        try folder.bytes(of: path(CloudNames.checkpoints, number), limit: CheckpointDocument.byteLimit)
    }

    func commitNumbers() throws -> [Int] { try numbers(in: CloudNames.commits) }

    func checkpointNumbers() throws -> [Int] { try numbers(in: CloudNames.checkpoints) }

    /// Opens the commits directory by name on a remote file system. NFS caches for up to a minute that a name did not exist; opening the
    /// directory makes the client revalidate it (close-to-open consistency). Local file systems need nothing.
    func refreshCommits() throws {
        guard files.isRemote(folder) else { return }
        _ = try folder.folder(CloudNames.commits)
    }

    func makeCommitsDurable() throws { try folder.folder(CloudNames.commits)?.synchronizeIfPossible() }

    func placeCommit(_ bytes: [UInt8], number: Int, clock: Instant) throws -> Placement {
        let commits = try subfolder(CloudNames.commits)
        return try files.put(bytes, as: fileName(number), in: commits) { sealed throws(CloudError) in
            try CommitClock.verify(clock, against: sealed.modified)
        }
    }

    func removeCommit(_ number: Int) throws {
        let commits = try subfolder(CloudNames.commits)
        try commits.remove(fileName(number))
        try commits.synchronize()
    }

    func placeCheckpoint(_ bytes: [UInt8], number: Int) throws -> Placement {
        try files.put(bytes, as: fileName(number), in: try subfolder(CloudNames.checkpoints))
    }

    func hasAsset(_ asset: CloudAsset, at path: AssetPath) throws -> Bool {
        guard try folder.file(path.path)?.status.byteCount == asset.byteCount else { return false }
        guard let index = asset.index else { return true }
        return try folder.file(path.indexPath)?.status.byteCount == index.byteCount
    }

    /// Returns a directory of the zone. It was created before `zone.json`, so its name is durable. It is created again if a sync tool left
    /// it out.
    func subfolder(_ name: String) throws(CloudError) -> CloudFolder {
        if let found = try folder.folder(name) { return found }
        return try files.folder(name, in: folder)
    }

    private func numbers(in name: String) throws(CloudError) -> [Int] {
        guard let found = try folder.folder(name) else { return [] }
        return try found.names().compactMap(CloudNames.number(ofFile:)).sorted()
    }

    private func path(_ directory: String, _ number: Int) -> String { "\(directory)/\(fileName(number))" }
    private func fileName(_ number: Int) -> String { "\(CloudNames.digits(number)).json" }
}
