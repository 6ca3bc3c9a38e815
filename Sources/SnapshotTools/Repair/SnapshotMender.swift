import CloudStore
import DirectoryCloud
import SnapshotFormat
import SnapshotModel
import StrictText

/// Rebuilds a damaged snapshot asset: undamaged members are copied, and the others come from any available source.
///
/// The index has the hash of every member, so each rebuilt member is verified. Memory: one member.
final class SnapshotMender: @unchecked Sendable {
    // SAFETY (of @unchecked Sendable): used by one thread at a time; the caller that starts the run waits for it.

    private let snapshot: StoredSnapshot
    private let library: MemberLibrary
    private let sources: [any EntitySource]
    private let syncTimestamp: Instant
    private let rebuilder: MemberRebuilder
    /// The members that were damaged or missing.
    private(set) var damaged: [Int] = []
    /// The members among them for which there is no source.
    private(set) var lost: [Int] = []
    /// The sources of the others.
    private(set) var used: [String] = []

    /// - Parameter syncTimestamp: the timestamp in the asset's head.
    init(_ snapshot: StoredSnapshot, library: MemberLibrary, sources: [any EntitySource], syncTimestamp: Instant) {
        self.snapshot = snapshot
        self.library = library
        self.sources = sources
        self.syncTimestamp = syncTimestamp
        rebuilder = MemberRebuilder(boxes: snapshot.boxes)
    }

    /// Passes the asset's bytes to `append`. Returns false if a member has no source; the remaining members are still checked, so that all lost
    /// ones are known.
    func run(_ append: (UnsafeRawBufferPointer) throws -> Void) throws -> Bool {
        (damaged, lost, used) = ([], [], [])
        for (position, member) in snapshot.members.enumerated() {
            guard let bytes = try bytes(position, member) else {
                lost.append(position)
                continue
            }
            if lost.isEmpty { try bytes.withUnsafeBytes { try append($0) } }
        }
        return lost.isEmpty
    }

    private func bytes(_ position: Int, _ member: MemberEntry) throws -> [UInt8]? {
        if let file = snapshot.file, let bytes = try StoredSnapshot.bytes(of: member, in: file) { return bytes }
        damaged.append(position)
        guard let (bytes, source) = try find(position, member) else { return nil }
        if !used.contains(source) { used.append(source) }
        return bytes
    }

    private func find(_ position: Int, _ member: MemberEntry) throws -> (bytes: [UInt8], source: String)? {
        for copy in snapshot.copies {
            if let bytes = try StoredSnapshot.bytes(of: member, in: copy) { return (bytes, copy.path) }
        }
        if let (bytes, path) = try library.bytes(of: member, notIn: snapshot.asset.path) { return (bytes, path) }
        switch position {
        case 0:
            let text = Array(SnapshotHeader(syncTimestamp: syncTimestamp, dataset: snapshot.index.dataset).text.utf8)
            if let bytes = try text.withUnsafeBytes({ try rebuilder.text($0, as: member) }) { return (bytes, "the commit") }
        case snapshot.index.blocks.count + 1:
            if let bytes = try Array(SnapshotTail.emptyText.utf8).withUnsafeBytes({ try rebuilder.text($0, as: member) }) {
                return (bytes, "the format: it is empty")
            }
            for source in sources {
                if let bytes = try source.tail().withUnsafeBytes({ try rebuilder.text($0, as: member) }) { return (bytes, source.name) }
            }
        default:
            let number = position - 1
            func rebuilt(_ json: [UInt8]) throws -> [UInt8]? { try json.withUnsafeBytes { try rebuilder.block($0, isFirst: number == 0, as: member) } }
            if let (json, path) = try library.block(member, notIn: snapshot.asset.path), let bytes = try rebuilt(json) { return (bytes, path) }
            for source in sources {
                if let json = try source.block(number, of: snapshot.index), let bytes = try rebuilt(json) { return (bytes, source.name) }
            }
        }
        for file in [snapshot.file].compactMap({ $0 }) + snapshot.copies {
            guard member.length <= OneBitFlip.byteLimit, let bytes = try file.bytes(at: member.offset, count: member.length) else { continue }
            if let mended = OneBitFlip.mend(bytes, { $0.withUnsafeBytes { SnapshotFormat.ContentHash(of: $0) } == member.sha256 }) {
                return (mended, "\(file.path): one bit was flipped")
            }
        }
        return nil
    }
}
