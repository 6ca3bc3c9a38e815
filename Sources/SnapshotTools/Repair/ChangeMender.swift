import CloudStore
import Sealing
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// Makes a change asset again out of the version before and the snapshot asset of its own version: what differs is what changed.
///
/// The hash in the commit decides. An entity that was touched and left as it was stands in the file and in no difference, so this
/// can fail. Memory: a key and a hash for each entity of both versions, so only datasets up to ``entityLimit`` are tried.
struct ChangeMender {
    let before: DatasetVersion
    let after: DatasetVersion
    /// What seals it in a sealed zone.
    let boxes: DatasetBoxes?

    /// The most entities of a dataset that is compared.
    static let entityLimit = 200_000

    /// The asset's bytes; nil if the difference is not what was written.
    func bytes(sha256: String) throws -> [UInt8]? {
        guard before.recordCount <= Self.entityLimit, after.recordCount <= Self.entityLimit, let hash = SnapshotFormat.ContentHash(hex: sha256) else {
            return nil
        }
        let old = try Contents(before, as: after.schema), new = try Contents(after, as: after.schema)
        let changed = Set(new.states.filter { key, state in old.states[key]?.hash != state.hash || old.instants[key] != new.instants[key] }.keys)
        let deleted = new.deletions.filter { old.deletions[$0.key] != $0.value || old.states[$0.key] != nil }
        let encoder = ChangeEncoder(schema: after.schema, syncTimestamp: after.fields.syncTimestamp)
        try after.read(Array(after.runs().indices)) { try $0.give(to: FilteringSink(encoder, after.schema, where: changed.contains)) }
        var tail = SnapshotTailBuilder()
        for (key, instant) in deleted.sorted(by: { $0.key < $1.key }) { tail.addDeletion(of: key, at: instant) }
        for key in changed.sorted() {
            if let instant = new.instants[key] { tail.addInstant(instant, of: key) }
        }
        return try encoder.end(tail).withBytes { try MemberRebuilder(boxes: boxes).changes($0, sha256: hash) }
    }

    private struct Contents {
        let states: [EntityKey: EntityState]
        private(set) var deletions: [EntityKey: Instant] = [:]
        private(set) var instants: [EntityKey: Instant] = [:]

        init(_ version: DatasetVersion, as schema: DatasetSchema) throws {
            let sink = EntityStates(schema: schema)
            try version.read(Array(version.runs().indices)) { try $0.give(to: sink) }
            states = sink.states
            var deletions: [EntityKey: Instant] = [:], instants: [EntityKey: Instant] = [:]
            try version.readTail {
                deletions[$0] = $1
            } instant: {
                instants[$0] = $1
            }
            (self.deletions, self.instants) = (deletions, instants)
        }
    }
}
