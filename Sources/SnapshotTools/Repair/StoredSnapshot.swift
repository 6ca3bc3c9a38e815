import CloudStore
import DirectoryCloud
import Sealing
import SnapshotFormat
import SnapshotModel
import StrictText

/// A snapshot asset as stored in the cloud, damaged or not, with an index that is known to be correct.
struct StoredSnapshot: Sendable {
    let asset: CloudAsset
    let index: SnapshotIndex
    /// The file with the asset's name; nil if there is none.
    let file: FoundFile?
    /// Files with other names beside it, which may be copies.
    let copies: [FoundFile]
    /// The keys for its members in a sealed zone.
    let boxes: DatasetBoxes?

    /// The members in the file's order: head, blocks, tail.
    var members: [MemberEntry] { [index.header] + index.blocks.map(\.member) + [index.tail] }

    /// The name of a member in messages.
    func name(ofMember position: Int) -> String {
        position == 0 ? "its head" : position == index.blocks.count + 1 ? "its tail" : "block \(position - 1)"
    }

    /// A member's bytes in a file; nil if they do not have the right hash.
    static func bytes(of member: MemberEntry, in file: FoundFile) throws -> [UInt8]? {
        guard let bytes = try file.bytes(at: member.offset, count: member.length) else { return nil }
        return bytes.withUnsafeBytes { SnapshotFormat.ContentHash(of: $0) } == member.sha256 ? bytes : nil
    }

    /// The positions of the members that are damaged or missing.
    func damagedMembers() throws -> [Int] {
        guard let file else { return Array(members.indices) }
        return try members.indices.filter { try Self.bytes(of: members[$0], in: file) == nil }
    }
}

/// The undamaged members of all snapshot assets of a zone, indexed by their hashes.
struct MemberLibrary: Sendable {
    private struct Place: Sendable {
        let snapshot: Int
        let position: Int
    }

    private let snapshots: [StoredSnapshot]
    private var byBytes: [SnapshotFormat.ContentHash: [Place]] = [:]

    init(_ snapshots: [StoredSnapshot]) {
        self.snapshots = snapshots
        for (number, snapshot) in snapshots.enumerated() {
            for (position, member) in snapshot.members.enumerated() {
                byBytes[member.sha256, default: []].append(Place(snapshot: number, position: position))
            }
        }
    }

    /// The bytes of a member from another asset that has the same member, and that asset's path.
    func bytes(of member: MemberEntry, notIn path: String) throws -> (bytes: [UInt8], path: String)? {
        for place in byBytes[member.sha256] ?? [] where snapshots[place.snapshot].asset.path != path {
            let snapshot = snapshots[place.snapshot]
            if let file = snapshot.file, let bytes = try StoredSnapshot.bytes(of: snapshot.members[place.position], in: file) {
                return (bytes, snapshot.asset.path)
            }
        }
        return nil
    }
}

/// Rebuilds a damaged snapshot asset: undamaged members are copied, and the others come from any available source.
///
/// The index has the hash of every member, so each rebuilt member is verified. Memory: one member.
final class SnapshotMender: @unchecked Sendable {
    // SAFETY (of @unchecked Sendable): used by one thread at a time; the caller that starts the run waits for it.

    private let snapshot: StoredSnapshot
    private let library: MemberLibrary
    private let rows: LocalRows?
    private let syncTimestamp: Instant
    private let rebuilder: MemberRebuilder
    /// The members that were damaged or missing.
    private(set) var damaged: [Int] = []
    /// The members among them for which there is no source.
    private(set) var lost: [Int] = []
    /// The sources of the others.
    private(set) var used: [String] = []

    /// - Parameters:
    ///   - rows: the rows of a device's table; nil if there are none.
    ///   - syncTimestamp: the timestamp in the asset's head.
    init(_ snapshot: StoredSnapshot, library: MemberLibrary, rows: LocalRows?, syncTimestamp: Instant) {
        self.snapshot = snapshot
        self.library = library
        self.rows = rows
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
            if let rows, let bytes = try rows.tail().withUnsafeBytes({ try rebuilder.text($0, as: member) }) { return (bytes, rows.name) }
        default:
            if let rows, let json = try rows.block(position - 1, of: snapshot.index),
                let bytes = try json.withUnsafeBytes({ try rebuilder.block($0, isFirst: position == 1, as: member) })
            {
                return (bytes, rows.name)
            }
        }
        return nil
    }
}
