public import StrictText

/// What the cloud stores: a type, a name, fields, and a tag that changes with every save.
///
///     var record = try await zone.record("food-7")
///     record.fields["name"] = .string("Rye bread")
///     record = try await zone.save(record)
///
/// A fetched record remembers what it was when it was fetched: that is how a save knows which keys changed, and what the
/// common ancestor of a conflict is. Two records are equal if type, name, fields and change tag are.
public struct CloudRecord: Sendable {
    /// What kind of thing it is: a letter, then up to 63 letters, digits and `_`. Never changes.
    public let type: String
    /// Names the record in its zone, whatever its type.
    public let name: String
    /// The values, by name.
    public var fields: [String: CloudValue]
    /// Set by the cloud: the number of the commit that last saved the record, in decimal; nil before that.
    public internal(set) var changeTag: String?
    /// When and by which device the record was first saved; nil if only a commit is known that saved it again.
    public internal(set) var creation: RecordEvent?
    /// When and by which device the record was last saved; nil before that.
    public internal(set) var modification: RecordEvent?
    /// The fields as the cloud had them when the record was fetched; nil for a record that was made here.
    private(set) var fetched: [String: CloudValue]?

    /// A new record, which no cloud has yet.
    public init(type: String, name: String, fields: [String: CloudValue]) {
        self.type = type
        self.name = name
        self.fields = fields
    }

    /// A record as a cloud has it; for backends.
    ///
    /// - Parameter changeTag: differs for every save of the record.
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

/// When something happened to a record, and through which device.
public struct RecordEvent: Hashable, Sendable, Codable {
    /// The commit's timestamp: for people, never for order.
    public let at: Instant
    /// The device that made the commit.
    public let device: String

    /// An event at an instant.
    public init(at: Instant, device: String) {
        self.at = at
        self.device = device
    }

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
    /// The keys whose values differ from the fetched ones, those taken away too; all keys of a record that was made here.
    public var changedKeys: Set<String> {
        guard let fetched else { return Set(fields.keys) }
        return Set(fields.keys).union(fetched.keys).filter { fields[$0] != fetched[$0] }
    }

    /// The record as it was fetched; nil if it was made here.
    public var asFetched: CloudRecord? {
        guard let fetched else { return nil }
        var record = self
        record.fields = fetched
        return record
    }

    /// The record with only these fields; all, if nil.
    func only(_ keys: Set<String>?) -> CloudRecord {
        guard let keys else { return self }
        var record = self
        record.fields = fields.filter { keys.contains($0.key) }
        record.fetched = fetched?.filter { keys.contains($0.key) }
        return record
    }

    /// The record with the creation of the one that it follows.
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

    /// The references in all fields, with that action.
    func references(_ action: RecordReference.Action) -> [RecordReference] {
        fields.values.flatMap(\.references).filter { $0.action == action }
    }
}
