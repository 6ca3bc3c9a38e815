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
    public init(to record: String, action: Action = .none) {
        self.record = record
        self.action = action
    }
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
