/// The three versions of a record that a conflict is about.
///
///     catch let error as CloudError where error.code == .serverRecordChanged {
///         if let conflict = error.conflict { merged = merge(conflict) }
///     }
///
/// Start the merged record from ``server``, so that it carries the tag that the cloud expects.
public struct RecordConflict: Hashable, Sendable {
    /// The record as the cloud has it.
    public let server: CloudRecord
    /// The record that was to be saved.
    public let client: CloudRecord
    /// The record as the client had fetched it; nil if the client never had (it made the record anew).
    public let ancestor: CloudRecord?

    /// Puts the three together.
    public init(server: CloudRecord, client: CloudRecord, ancestor: CloudRecord?) {
        self.server = server
        self.client = client
        self.ancestor = ancestor
    }
}
