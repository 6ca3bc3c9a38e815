internal import SnapshotModel

/// The limits of the format. A file beyond one of them is refused, by writers and readers alike.
///
/// Units: bytes unless the name says otherwise. Source: docs/format.md, "Limits".
package enum FormatLimits {
    package static let formatVersion = 1
    /// The longest key, in bytes of UTF-8 or of its encoded values.
    package static let keyBytes = KeyShape.byteLimit
    /// The largest entity, in bytes of JSON.
    package static let entityBytes = 64 << 20
    /// The raw size from which on the next entity begins a new block, whatever its key.
    package static let fullBlockBytes = 1 << 20
    /// The largest raw size of a block: one that is just short of full, plus one entity of the largest size, with separators.
    package static let blockRawBytes = fullBlockBytes + entityBytes + 4
    /// The largest raw size of the header member.
    package static let headerRawBytes = 256
    /// The largest raw size of the tail member.
    package static let tailRawBytes = 64 << 20
    /// The largest raw size of a change asset, which a reader holds in memory.
    package static let changeRawBytes = 16 << 20
    /// The largest container of another program, compressed or not. It is read as a whole.
    package static let foreignBytes = Int(UInt32.max)
    /// The most entities that the cut rule can aim at in a block.
    package static let blockEntities = 65_536
    /// The largest number of bytes that deflate can make of one byte.
    package static let inflateRatio = 1032
    /// The largest block index.
    package static let indexBytes = 64 << 20
    /// The shortest gzip member: 10 bytes of header, 2 of deflate, 8 of trailer.
    package static let memberBytes = 20
}
