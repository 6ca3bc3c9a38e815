import SnapshotFormat
import SnapshotModel

private let compressor = MemberCompressor()

/// Change assets behind their hash: the input is the JSON, compressed here.
func fuzz(_ bytes: UnsafeRawBufferPointer) {
    guard !bytes.isEmpty, let member = try? compressor.compress(bytes) else { return }
    let schema = FuzzSchema.named(in: bytes)
    let entry = MemberEntry(
        offset: 0, length: member.bytes.count, rawLength: bytes.count, sha256: ContentHash(of: member.bytes), rawSHA256: ContentHash(of: bytes))
    guard let changes = try? ChangeSet(member.bytes, entry: entry, schema: schema, name: "changes") else { return }
    let text = CanonicalText(schema), whole = CanonicalText(schema)
    guard (try? changes.send(to: whole, over: { _, _ in })) != nil else { return }
    expect(whole.lines.count == changes.entityKeys.count - changes.partial.count, "an entity is whole or partial")
    guard (try? changes.entities.send(to: text)) != nil else { return }
    expect(text.lines.count == changes.entityKeys.count, "each entity has a key")
    expect(zip(changes.entityKeys, changes.entityKeys.dropFirst()).allSatisfy { $0 < $1 }, "keys ascend")
    expect(Set(changes.keys).count == changes.keys.count, "no key is both changed and deleted")
}
