@testable import CloudStore
import Foundation
import SnapshotFormat
import SnapshotModel
import StrictText

/// Texts put into sound documents at one place, and read by the parser of those documents. What is read is returned where it is kept.
enum HostileText {
    private static let history = HistoryID(cloud: "9f2f3f1e-2419-4e61-9c40-90bee53aa355", zone: ZoneID("ZentikSyncZone"))
    private static let commitBody =
        #"{"approvals":[],"clock":"2026-01-02T03:04:05Z","cloud":"9f2f3f1e-2419-4e61-9c40-90bee53aa355","deleted":["a"],"device":"phone","messages":{"applied":[],"refused":[]},"nonce":"0123456789abcdef","number":1,"saved":[],"timestamp":"2026-01-02T03:04:05Z","zone":"private/ZentikSyncZone","later":"#
    private static let messageID = String(repeating: "0", count: 32)

    private static func join(_ before: String, _ text: [UInt8], _ after: String) -> Data { Data(before.utf8) + text + Data(after.utf8) }

    static func commit(_ text: [UInt8]) throws {
        _ = try VerifiedCommit(ChecksummedDocument.seal(join(commitBody, text, "}"), named: CommitDocument.sealName), number: 1, of: history)
    }

    static func checkpoint(_ text: [UInt8]) throws {
        let hash = String(repeating: "0", count: 64)
        let body = join(
            #"{"cloud":"9f2f3f1e-2419-4e61-9c40-90bee53aa355","commit":"\#(hash)","number":1,"records":[],"timestamp":"2026-01-02T03:04:05Z","zone":"private/ZentikSyncZone","later":"#,
            text, "}")
        let bytes = ChecksummedDocument.seal(body, named: CheckpointDocument.sealName)
        _ = try ReplayedHistory(checkpoint: bytes, named: CheckpointReference(number: 1, sha256: CloudStore.ContentHash.of(bytes)), of: history)
    }

    static func message(_ text: [UInt8]) throws {
        let body = join(
            #"{"body":{"later":"#, text,
            #"},"cloud":"9f2f3f1e-2419-4e61-9c40-90bee53aa355","id":"\#(messageID)","sender":"watch","zone":"private/ZentikSyncZone"}"#)
        let bytes = ChecksummedDocument.seal(body, named: MessageDocument.sealName)
        _ = try MessageDocument.decode(bytes, CloudMessageName(sender: "watch", id: messageID), of: history, at: "message")
    }

    static func schema() throws -> DatasetSchema {
        try DatasetSchema(
            name: "things", table: "things", keys: ["id"], timestamp: nil,
            columns: [DatasetColumn("id", .text), DatasetColumn("title", .text), DatasetColumn("tree", .json)])
    }

    private static func entity(title: [UInt8]?, tree: [UInt8]?, unknown: [UInt8]? = nil) -> Data {
        join(#"{"id":"a","title":"#, title ?? Array(#""t""#.utf8), #","tree":"#) + (tree ?? Array("{}".utf8))
            + (unknown.map { join(#","unknown":"#, $0, "") } ?? Data()) + Data("}".utf8)
    }

    @discardableResult
    static func block(title: [UInt8]? = nil, tree: [UInt8]? = nil) throws -> [[UInt8]] {
        let text = Data("\n".utf8) + entity(title: title, tree: tree)
        let (member, entry) = try compress(text)
        let block = EntityBlock()
        try MemberReader().inflate(member.bytes, entry: entry, name: "block 0", into: block.raw)
        try BlockParser(schema: schema()).parse(
            block, entry: BlockEntry(firstKey: .text(Array("a".utf8)), count: 1, member: entry), number: 0, nextFirstKey: nil)
        return try trees(of: block)
    }

    @discardableResult
    static func changes(title: [UInt8]? = nil, tree: [UInt8]? = nil) throws -> [[UInt8]] {
        let text = join("{\"syncTimestamp\":\"2026-01-02T03:04:05.000Z\",\"after\":\"1\",\"things\":[\n", Array(entity(title: title, tree: tree)), "\n]}\n")
        let (member, entry) = try compress(text)
        return try trees(of: ChangeSet(member.bytes, entry: entry, schema: schema(), name: "changes").entities)
    }

    @discardableResult
    static func container(title: [UInt8]? = nil, tree: [UInt8]? = nil, unknown: [UInt8]? = nil, member: [UInt8]? = nil) throws -> [[UInt8]] {
        var rest = join(#"{"syncTimestamp":"2026-01-02T03:04:05Z","things":["#, Array(entity(title: title, tree: tree, unknown: unknown)), "]")[...]
        if let member { rest += join(#","member":"#, member, "") }
        rest += Data("}".utf8)
        let reader = ContainerReader(schemas: [try schema()]) { buffer in
            let piece = rest.prefix(buffer.count)
            buffer.copyBytes(from: piece)
            rest = rest.dropFirst(piece.count)
            return piece.count
        }
        var found: [[UInt8]] = []
        while let block = try reader.next() { found += try trees(of: block) }
        return found
    }

    /// A member, and what an index says of it.
    private static func compress(_ text: Data) throws -> (CompressedMember, MemberEntry) {
        try text.withUnsafeBytes { raw in
            let member = try MemberCompressor().compress(raw)
            let entry = MemberEntry(
                offset: 0, length: member.bytes.count, rawLength: raw.count, sha256: SnapshotFormat.ContentHash(of: member.bytes),
                rawSHA256: SnapshotFormat.ContentHash(of: raw))
            return (member, entry)
        }
    }

    /// The JSON columns of a block's entities.
    private static func trees(of block: EntityBlock) throws -> [[UInt8]] {
        let sink = TreeSink()
        try block.send(to: sink)
        return sink.trees
    }

    private final class TreeSink: EntitySink {
        private(set) var trees: [[UInt8]] = []

        func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws {
            switch values[2] {
            case .json(let bytes), .text(let bytes): trees.append(Array(bytes))
            default: break
            }
        }
    }
}
