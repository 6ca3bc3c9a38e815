import CloudStore
import Sealing
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// Rebuilds a change asset from the previous version and the snapshot asset of its own version: the differences are the changes.
///
/// The hash in the commit decides whether the result is right. It can fail, because a change asset also contains entities that were written
/// without a change of value. An entity is partial if the version names instants of columns that are not those of the version before. Memory: a key and a hash for each entity of both versions, so only datasets up to ``entityLimit`` are tried.
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
        let schema = after.schema,
            encoder = ChangeEncoder(
                schema: schema, syncTimestamp: after.fields.syncTimestamp, after: AssetPath(before.fields.end.path)?.stem ?? "")
        var undated: Set<EntityKey> = []
        // Called before the encoder takes the entity.
        let isChanged = { (key: EntityKey) in
            guard changed.contains(key) else { return false }
            encoder.changed = columns(key, old, new)
            if let some = encoder.changed, let timestamp = schema.timestampIndex, !some.contains(timestamp) { undated.insert(key) }
            return true
        }
        try after.read(Array(after.runs().indices)) { try $0.give(to: FilteringSink(encoder, schema, where: isChanged)) }
        var tail = SnapshotTailBuilder()
        for (key, instant) in deleted.sorted(by: { $0.key < $1.key }) { tail.addDeletion(of: key, at: instant) }
        for key in changed.sorted() {
            let own = undated.contains(key) ? nil : new.states[key]?.timestamp
            for (part, at) in new.instants[key]?.entries(own: own) ?? [] { tail.add(part, at, of: key) }
        }
        return try encoder.end(tail).withBytes { try MemberRebuilder(boxes: boxes).changes($0, sha256: hash) }
    }

    /// The columns that a partial entity has; nil if it is whole.
    private func columns(_ key: EntityKey, _ old: Contents, _ new: Contents) -> Set<Int>? {
        guard let before = old.states[key], let instants = new.instants[key]?.columns else { return nil }
        let earlier = old.instants[key] ?? RowInstants(), columns = after.schema.columns
        let changed = Set(
            columns.indices.filter { index in
                let name = columns[index].name.exact
                return instants[name].map { $0 != earlier.instant(of: name, own: before.timestamp) } ?? false
            })
        return changed.isEmpty || changed.union(after.schema.keyIndices).count == columns.count ? nil : changed
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
