import CloudStore
import Sealing
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// Rebuilds a change asset from the previous version and the snapshot asset of its own version: the differences are the changes.
///
/// The hash in the commit decides whether the result is right. It can fail, because a change asset also contains entities that were written
/// without a change of value. Memory: a key and a hash for each entity of both versions, so only datasets up to ``entityLimit`` are tried.
struct ChangeMender {
    let before: DatasetVersion
    let after: DatasetVersion
    /// The keys with which the asset is encrypted in a sealed zone.
    let boxes: DatasetBoxes?

    /// The maximum number of entities in a dataset for which this is tried.
    static let entityLimit = 200_000

    /// The asset's bytes; nil if the rebuilt bytes do not have the expected hash.
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
        let own = OwnInstants(schema: after.schema)
        try after.read(Array(after.runs().indices)) { try $0.give(to: FilteringSink(own, after.schema, where: changed.contains)) }
        for key in changed.sorted() {
            for (part, at) in new.instants[key]?.entries(own: own.instants[key]) ?? [] { tail.add(part, at, of: key) }
        }
        return try encoder.end(tail).withBytes { try MemberRebuilder(boxes: boxes).changes($0, sha256: hash) }
    }

    private struct Contents {
        let states: [EntityKey: EntityState]
        private(set) var deletions: [EntityKey: Instant] = [:]
        private(set) var instants: [EntityKey: RowInstants] = [:]

        init(_ version: DatasetVersion, as schema: DatasetSchema) throws {
            let sink = EntityStates(schema: schema)
            try version.read(Array(version.runs().indices)) { try $0.give(to: sink) }
            states = sink.states
            var deletions: [EntityKey: Instant] = [:], instants: [EntityKey: RowInstants] = [:]
            try version.readTail(
                .init(
                    deletion: { deletions[$0] = $1 },
                    instant: { part, key, at in instants[key, default: RowInstants()].set(part, at ?? sink.states[key]?.timestamp ?? .distantPast) }))
            (self.deletions, self.instants) = (deletions, instants)
        }
    }
}
