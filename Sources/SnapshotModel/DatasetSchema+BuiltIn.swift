extension DatasetSchema {
    /// The dataset `buckets`: ``Bucket`` entities in the table `buckets`.
    package static let buckets: DatasetSchema = describe(
        "buckets",
        [
            DatasetColumn("id", .text),
            DatasetColumn("name", .text),
            DatasetColumn("description", .text, isOptional: true),
            DatasetColumn("color", .text, isOptional: true),
            DatasetColumn("iconUrl", .text, isOptional: true),
            DatasetColumn("createdAt", .text),
            DatasetColumn("updatedAt", .text),
            DatasetColumn("isOrphan", .boolean, isOptional: true),
        ])

    /// The dataset `notifications`: ``Notification`` entities in the table `notifications`.
    package static let notifications: DatasetSchema = describe(
        "notifications",
        [
            DatasetColumn("id", .text),
            DatasetColumn("title", .text),
            DatasetColumn("subtitle", .text, isOptional: true),
            DatasetColumn("body", .text, isOptional: true),
            DatasetColumn("readAt", .text, isOptional: true),
            DatasetColumn("sentAt", .text, isOptional: true),
            DatasetColumn("createdAt", .text),
            DatasetColumn("updatedAt", .text),
            DatasetColumn("bucketId", .text),
            DatasetColumn("attachments", .json),
            DatasetColumn("actions", .json),
            DatasetColumn("tapAction", .json, isOptional: true),
        ])

    /// The datasets of a database without a dataset file, parents before children.
    package static let builtIn: [DatasetSchema] = [buckets, notifications]

    private static func describe(_ name: String, _ columns: [DatasetColumn]) -> DatasetSchema {
        do {
            return try DatasetSchema(name: name, table: name, keys: ["id"], timestamp: "updatedAt", columns: columns)
        } catch {
            preconditionFailure("the built-in dataset \(name) breaks a rule: \(error)")
        }
    }
}

extension MessagePolicy {
    /// The policy of a description that states none: for the built-in datasets, the messages that they have always had; for any other, no
    /// messages.
    ///
    /// The messages of the built-in datasets identify an entity by a text and set timestamps as text.
    static func standard(of dataset: String, _ columns: [DatasetColumn], _ keyShape: KeyShape, unit: TimestampUnit?) -> MessagePolicy {
        guard keyShape.isTextOnly, unit == nil else { return .none }
        switch dataset {
        case "buckets": return .wholeRows
        case "notifications":
            let canBeMarked = columns.contains { $0.name == "readAt" && $0.shape == .text && $0.isOptional }
            return canBeMarked ? MessagePolicy(patch: ["readAt"], delete: true) : .none
        default: return .none
        }
    }
}
