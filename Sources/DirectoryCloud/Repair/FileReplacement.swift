import CloudStore
import CommitLog
import Platform

/// Puts a file where a damaged one lies or one is missing, once its bytes are known to be the right ones.
///
/// Nothing is replaced: the whole file is made first, sealed and compared; then what lies there gets another name; then the new
/// file gets its own, if nothing has it. A run that ends in between leaves the file missing at worst, and the next one goes on.
struct FileReplacement {
    let zone: ZoneFolder
    /// Beneath the zone: a folder of this format and a name in it.
    let path: String
    let byteCount: Int
    let sha256: String

    /// Runs `write`, which hands over the bytes piece by piece, or returns false if it cannot.
    ///
    /// - Parameter dryRun: whether only to see that the bytes are right.
    /// - Returns: nil if the bytes could not be had or were not the right ones; then nothing has changed.
    func run(dryRun: Bool, write: ((UnsafeRawBufferPointer) throws -> Void) throws -> Bool) throws -> RepairedFile? {
        guard !dryRun else {
            var hash = ContentHash(), count = 0
            let isDone = try write { piece in
                hash.update(piece)
                count += piece.count
            }
            return isDone && count == byteCount && hash.hex == sha256 ? RepairedFile(setAside: nil) : nil
        }
        let folder = try open()
        let name = path.split(separator: "/").last.map(String.init) ?? path
        let file = try zone.files.newFile(in: folder, at: zone.folder.place(path))
        defer { file.abandon() }
        guard try write({ try file.write($0) }) else { return nil }
        let sealed = try file.seal()
        guard sealed.byteCount == byteCount, sealed.sha256 == sha256 else { return nil }
        // A sync tool may have brought the file meanwhile.
        if let there = try FoundFile(path, in: zone.folder), try there.isWhole(byteCount: byteCount, sha256: sha256) { return RepairedFile(setAside: nil) }
        let aside = try folder.setAside(name, zone.files.nonces)
        guard try file.place(as: name) != .taken else {
            throw CloudError(
                .inputOutput, at: zone.folder.place(path), "another file came to lie there meanwhile", hint: "run the same command again", isRetryable: true)
        }
        try folder.synchronize()
        return RepairedFile(setAside: aside.map { path.dropLast(name.count) + $0 })
    }

    private func open() throws -> CloudFolder {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard (2...3).contains(parts.count), [CloudNames.commits, CloudNames.checkpoints, CloudNames.assets].contains(parts[0]),
            parts.count == 2 || CloudNames.isName(parts[1])
        else { throw CloudError(.invalidArguments, at: zone.folder.ownPlace, "no file of a zone's history is called that") }
        let above = try zone.subfolder(parts[0])
        return parts.count == 3 ? try zone.files.folder(parts[1], in: above) : above
    }
}

/// What became of the file that lay in a repaired one's place.
package struct RepairedFile: Sendable {
    /// The path, beneath the zone, under which the damaged file lies now; nil if there was none.
    package let setAside: String?
}
