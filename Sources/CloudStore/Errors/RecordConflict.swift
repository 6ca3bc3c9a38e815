/// The three versions of a record in a conflict.
///
///     catch let error as CloudError where error.code == .serverRecordChanged {
///         if let conflict = error.conflict { merged = merge(conflict) }
///     }
///
/// Start the merged record from ``server``, so that it carries the tag that the cloud expects.
public struct RecordConflict: Hashable, Sendable {
    /// The record as it is in the cloud.
    public let server: CloudRecord
    /// The record that the client tried to save.
    public let client: CloudRecord
    /// The record as the client had fetched it; nil if the client never fetched it and tried to create it.
    public let ancestor: CloudRecord?

    /// Combines the three versions.
    public init(server: CloudRecord, client: CloudRecord, ancestor: CloudRecord?) {
        self.server = server
        self.client = client
        self.ancestor = ancestor
    }
}
