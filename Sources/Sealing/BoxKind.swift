/// What a box contains. A box of one kind does not open as another kind.
package enum BoxKind: String, Sendable, CaseIterable {
    /// A gzip member of an asset, or a whole change asset.
    case member
    /// The block index of a snapshot asset.
    case index
    /// The fields of a record.
    case record
    /// A message of a reader.
    case message
}
