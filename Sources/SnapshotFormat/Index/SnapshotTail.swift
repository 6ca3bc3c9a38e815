package import SnapshotModel
package import StrictText

/// The tail of a snapshot asset or a change asset: the array's end, what the version says of its entities, and the container's end.
///
/// Layout: `\n]`, `,"held":[{…},…]`, `,"deletions":[{"id":…,"deletedAt":"…"},…]`, `,"instants":[{"id":…,"at":"…"},…]`, `,"born":[…]`,
/// `,"columns":{"…":[…],…}`, `}\n`. A list is omitted if it is empty; the keys in a list, and the names of columns, ascend strictly. An instant
/// may belong to a run of entities, `{"from":…,"to":…,"at":"…"}`. Source: docs/format.md, "The tail".
package struct SnapshotTail: Hashable, Sendable {
    /// The number of entities that are in no table.
    package fileprivate(set) var heldCount = 0
    /// The number of tombstones.
    package fileprivate(set) var deletionCount = 0
    /// The number of instants of single entities, in all lists.
    package fileprivate(set) var instantCount = 0
    /// The number of runs of entities with the same instant, in all lists.
    package fileprivate(set) var runCount = 0

    /// Receives the contents of a tail, in key order within each list.
    package struct Visitor {
        /// An entity that is in no table: its key, and a block with this entity alone, valid during the call.
        package let held: (EntityKey, EntityBlock) throws -> Void
        package let deletion: (EntityKey, Instant) throws -> Void
        /// The instant is nil if it is the entity's own timestamp.
        package let instant: (InstantPart, EntityKey, Instant?) throws -> Void
        package var run: (InstantPart, InstantRun) throws -> Void

        package init(
            held: @escaping (EntityKey, EntityBlock) throws -> Void = { _, _ in }, deletion: @escaping (EntityKey, Instant) throws -> Void = { _, _ in },
            instant: @escaping (InstantPart, EntityKey, Instant?) throws -> Void = { _, _, _ in },
            run: @escaping (InstantPart, InstantRun) throws -> Void = { _, _ in }
        ) {
            self.held = held
            self.deletion = deletion
            self.instant = instant
            self.run = run
        }
    }

    /// What a tail may say.
    package struct Form {
        /// The schema by which held entities are decoded.
        let schema: DatasetSchema
        /// The columns of which the tail may have instants. Nil for a change asset: those that the schema lacks are skipped.
        let columns: Set<ExactText>?
        /// When the version was made. No instant is later.
        let latest: Instant

        /// - Parameters:
        ///   - schema: decodes held entities.
        ///   - columns: the columns that a snapshot asset has; nil for a change asset, which does not name them.
        ///   - latest: when the version was made.
        package init(_ schema: DatasetSchema, columns: [DatasetColumn]?, at latest: Instant) {
            self.schema = schema
            self.columns = columns.map { Set($0.map(\.name.exact)) }
            self.latest = latest
        }

        /// The tail of a snapshot asset.
        ///
        /// - Parameter schema: decodes held entities; nil for the asset's own.
        package init(_ index: SnapshotIndex, as schema: DatasetSchema? = nil, at latest: Instant) throws {
            self.init(try schema ?? index.schema(table: index.dataset), columns: index.columns, at: latest)
        }
    }

    /// The text of a tail without lists.
    package static let emptyText = "\n]}\n"

    /// Parses a whole tail, which must be canonical to the byte except for its held entities, and counts its contents.
    ///
    /// Memory: one held entity.
    ///
    /// - Throws: ``SyncError`` with `.truncated`, `.damaged`, `.badEntity` or `.outOfOrder`.
    @discardableResult
    package static func read(_ bytes: UnsafeRawBufferPointer, _ form: Form, visitor: Visitor = Visitor()) throws -> SnapshotTail {
        var parser = TailParser(bytes, form, visitor: visitor)
        return try parser.parse()
    }
}

/// Parses a tail.
private struct TailParser {
    private var reader: LiteralReader
    private let form: SnapshotTail.Form
    private let visitor: SnapshotTail.Visitor
    private var tail = SnapshotTail()
    /// The key before, in the list that is read.
    private var last: EntityKey?
    /// The keys of held entities, ascending. No deletion has one of them, and no run covers one.
    private var held: [EntityKey] = []

    init(_ bytes: UnsafeRawBufferPointer, _ form: SnapshotTail.Form, visitor: SnapshotTail.Visitor) {
        reader = LiteralReader(bytes, place: "tail")
        self.form = form
        self.visitor = visitor
    }

    mutating func parse() throws -> SnapshotTail {
        try reader.expect("\n]")
        if reader.accept(",\"held\":[") { try readHeld() }
        if reader.accept(",\"deletions\":[") { try readDeletions() }
        if reader.accept(",\"instants\":[") { try readInstants(.row) }
        if reader.accept(",\"born\":[") { try readInstants(.born) }
        if reader.accept(",\"columns\":{") { try readColumns() }
        try reader.expect("}\n")
        try reader.expectEnd()
        return tail
    }

    private mutating func readHeld() throws {
        last = nil
        let entities = EntityReader(form.schema)
        repeat {
            let bytes = try reader.value()
            let key = try entities.read(bytes, at: "tail, held entity \(tail.heldCount)")
            try follow(key)
            held.append(key)
            try visitor.held(key, entities.block)
            tail.heldCount += 1
        } while reader.accept(",")
        try reader.expect("]")
    }

    private mutating func readDeletions() throws {
        last = nil
        repeat {
            try reader.expect("{\"id\":")
            let key = try readKey()
            guard !isHeld(from: key, upTo: key) else { throw reader.damage("the entity \(key) is held and deleted") }
            try reader.expect(",\"deletedAt\":")
            try visitor.deletion(key, readInstant())
            tail.deletionCount += 1
            try reader.expect("}")
        } while reader.accept(",")
        try reader.expect("]")
    }

    private mutating func readColumns() throws {
        let known = Set(form.schema.columns.map(\.name.exact))
        var before: ExactText?
        repeat {
            let name = try reader.string().exact
            if let before, !(before < name) {
                throw SyncError(format: .outOfOrder, at: "tail, byte \(reader.position)", "a column's name does not come after the one before")
            }
            before = name
            if let columns = form.columns, !columns.contains(name) {
                throw reader.damage("the column \(name.description.debugDescription), which has instants, is not among the columns")
            }
            try reader.expect(":[")
            try readInstants(.column(name), isKnown: known.contains(name))
        } while reader.accept(",")
        try reader.expect("}")
    }

    private mutating func readInstants(_ part: InstantPart, isKnown: Bool = true) throws {
        last = nil
        let isOptional = part != .row
        repeat {
            // A change asset has no runs.
            let isRun = form.columns != nil && reader.accept("{\"from\":")
            if !isRun { try reader.expect("{\"id\":") }
            let first = try readKey()
            var end: EntityKey?
            if isRun {
                try reader.expect(",\"to\":")
                let last = try readKey()
                guard !isHeld(from: first, upTo: last) else { throw reader.damage("a run from \(first) to \(last) covers a held entity") }
                end = last
            }
            var at: Instant?
            if reader.accept(",\"at\":") { at = try readInstant() } else if !isOptional { try reader.expect(",\"at\":") }
            try reader.expect("}")
            if isRun { tail.runCount += 1 } else { tail.instantCount += 1 }
            guard isKnown else { continue }
            if let end { try visitor.run(part, InstantRun(first: first, last: end, at: at)) } else { try visitor.instant(part, first, at) }
        } while reader.accept(",")
        try reader.expect("]")
    }

    /// Whether an entity from one key to another is held.
    private func isHeld(from first: EntityKey, upTo last: EntityKey) -> Bool {
        let position = held.partitioningIndex { !($0 < first) }
        return position < held.count && !(last < held[position])
    }

    private mutating func readKey() throws -> EntityKey {
        let key = try reader.key()
        guard form.schema.keyShape.accepts(key), key.byteCount <= FormatLimits.keyBytes else { throw reader.damage("the id is not a key") }
        try follow(key)
        return key
    }

    private mutating func follow(_ key: EntityKey) throws {
        if let last, !(last < key) {
            throw SyncError(format: .outOfOrder, at: "tail, byte \(reader.position)", "an id does not come after the one before")
        }
        last = key
    }

    private mutating func readInstant() throws -> Instant {
        let instant = try reader.instant()
        guard instant <= form.latest else { throw reader.damage("an instant is later than the version, which was made at \(form.latest)") }
        return instant
    }
}
