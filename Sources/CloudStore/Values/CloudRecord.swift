public import StrictText

/// A record in the cloud: a type, a name, fields, and a tag that changes with every save.
///
///     var record = try await zone.record("food-7")
///     record.fields["name"] = .string("Rye bread")
///     record = try await zone.save(record)
///
/// A fetched record remembers its fetched state. From that, a save knows which keys changed, and what the common ancestor of a conflict is.
/// Two records are equal if their type, name, fields and change tag are equal.
public struct CloudRecord: Sendable {
    /// The kind of record: a letter, then up to 63 letters, digits and `_`. Never changes.
    public let type: String
    /// The record's name, unique in its zone across all types.
    public let name: String
    /// The values, by name.
    public var fields: [String: CloudValue]
    /// Set by the cloud: the decimal number of the commit that last saved the record; nil before the first save.
    public internal(set) var changeTag: String?
    /// When and by which device the record was first saved; nil if only a later save of the record is known.
    public internal(set) var creation: RecordEvent?
    /// When and by which device the record was last saved; nil before the first save.
    public internal(set) var modification: RecordEvent?
    /// The fields as they were when the record was fetched; nil for a record that was created here.
    private(set) var fetched: [String: CloudValue]?

    /// A new record that is not in any cloud yet.
    public init(type: String, name: String, fields: [String: CloudValue]) { (self.type, self.name, self.fields) = (type, name, fields) }

    /// A record as it is in a cloud; for backends.
    ///
    /// - Parameter changeTag: a tag that is different for every save of the record.
    public init(
        type: String, name: String, fields: [String: CloudValue], changeTag: String, creation: RecordEvent?, modification: RecordEvent?
    ) {
        self.init(type: type, name: name, fields: fields)
        self.changeTag = changeTag
        self.creation = creation
        self.modification = modification
        fetched = fields
    }
}

/// When a record was changed, and by which device.
public struct RecordEvent: Hashable, Sendable, Codable {
    /// The commit's timestamp. For people to read, never used for order.
    public let at: Instant
    /// The device that made the commit.
    public let device: String

    /// An event at an instant.
    public init(at: Instant, device: String) { (self.at, self.device) = (at, device) }

    enum CodingKeys: String, CodingKey {
        case at, device = "by"
    }
}

extension CloudRecord: Hashable {
    public static func == (left: CloudRecord, right: CloudRecord) -> Bool {
        left.name == right.name && left.changeTag == right.changeTag && left.type == right.type && left.fields == right.fields
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(changeTag)
    }
}

extension CloudRecord {
    /// The keys whose values differ from the fetched ones, including removed keys; all keys of a record that was created here.
    package var changedKeys: Set<String> {
        guard let fetched else { return Set(fields.keys) }
        return Set(fields.keys).union(fetched.keys).filter { fields[$0] != fetched[$0] }
    }

    /// The record as it was fetched; nil if it was created here.
    package var asFetched: CloudRecord? {
        guard let fetched else { return nil }
        var record = self
        record.fields = fetched
        return record
    }

    /// The record with only these fields; nil keeps all.
    package func only(_ keys: Set<String>?) -> CloudRecord {
        guard let keys else { return self }
        var record = self
        record.fields = fields.filter { keys.contains($0.key) }
        record.fetched = fetched?.filter { keys.contains($0.key) }
        return record
    }

    /// The record with the creation event of its previous version. Without a previous version, this save is its creation.
    package func following(_ previous: CloudRecord?) -> CloudRecord {
        guard let previous else {
            var record = self
            record.creation = record.modification
            return record
        }
        var record = self
        record.creation = previous.creation
        return record
    }

    /// The references with that action, in all fields.
    package func references(_ action: RecordReference.Action) -> [RecordReference] {
        fields.values.flatMap(\.references).filter { $0.action == action }
    }
}

/// A field that refers to a record of the same zone.
///
///     comment.fields["project"] = .reference(RecordReference(to: "project-7", action: .deleteSelf))
public struct RecordReference: Hashable, Sendable {
    /// What happens to the referring record when the target is deleted.
    public enum Action: String, Hashable, Sendable, Codable, CaseIterable {
        /// Nothing: the reference may point at a record that does not exist.
        case none
        /// The record is deleted with its target, in the same commit. It cannot be saved unless the target exists (`referenceViolation`).
        case deleteSelf
    }

    /// The target's name.
    public let record: String
    /// What happens when the target is deleted.
    public let action: Action

    /// Refers to the record of that name.
    public init(to record: String, action: Action = .none) { (self.record, self.action) = (record, action) }
}

extension RecordReference: Codable {
    private enum CodingKeys: String, CodingKey {
        case record, action
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        record = try container.decode(String.self, forKey: .record)
        let name = try container.decodeIfPresent(String.self, forKey: .action)
        guard let action = name.map(Action.init(rawValue:)) ?? .some(.none) else {
            throw CloudError(
                .incompatibleVersion, at: "field", "a reference's action is unknown to this version", hint: "update snapsync on this device")
        }
        self.action = action
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(record, forKey: .record)
        if action != .none { try container.encode(action, forKey: .action) }
    }
}
