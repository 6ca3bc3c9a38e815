extension DatasetSchema {
    /// The dataset `buckets`: entities are ``Bucket``s, kept in the table `buckets`.
    public static let buckets: DatasetSchema = describe(
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

    /// The dataset `notifications`: entities are ``Notification``s, kept in the table `notifications`.
    public static let notifications: DatasetSchema = describe(
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

    /// The datasets of a database that names no dataset file, parents before children.
    public static let builtIn: [DatasetSchema] = [buckets, notifications]

    private static func describe(_ name: String, _ columns: [DatasetColumn]) -> DatasetSchema {
        do {
            return try DatasetSchema(name: name, table: name, key: "id", timestamp: "updatedAt", columns: columns)
        } catch {
            preconditionFailure("the built-in dataset \(name) breaks a rule: \(error)")
        }
    }
}
