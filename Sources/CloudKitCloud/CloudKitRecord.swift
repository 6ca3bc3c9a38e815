public import Foundation

/// A record as the backend stores it: a `CKRecord` with few fields.
public struct CloudKitRecord: Hashable, Sendable {
    /// The value of a field.
    public enum Value: Hashable, Sendable {
        case string(String)
        case integer(Int64)
        case bytes(Data)
        /// A file: the one to upload, or the one that was downloaded.
        case asset(URL)
    }

    /// `CKRecord.ID.recordName`: at most 255 ASCII characters.
    public var name: String
    public var type: String
    public var fields: [String: Value]
    /// The server's change tag; nil for a new record. An application may store the system fields of its `CKRecord` here, or only the tag:
    /// the backend never saves a record again.
    public var changeTag: String?
    /// When the server last saved the record: `modificationDate`; nil for a new record.
    public var modified: Date?

    public init(name: String, type: String, fields: [String: Value], changeTag: String? = nil, modified: Date? = nil) {
        self.name = name
        self.type = type
        self.fields = fields
        self.changeTag = changeTag
        self.modified = modified
    }
}
