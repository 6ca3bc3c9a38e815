package import SnapshotModel
import StrictText

/// Rows that break a CHECK constraint of this device's table. An import takes them where the table of the device that wrote them let them in.
package struct CheckReport: Sendable {
    /// What there is to say of them.
    package let sentence: String

    /// - Parameters:
    ///   - check: the constraint's name, or its text.
    ///   - keys: the first keys of the rows.
    package init(_ schema: DatasetSchema, _ check: String, count: Int, keys: [EntityKey]) {
        let listed = keys.map(\.plainText).joined(separator: ", ") + (count > keys.count ? ", …" : "")
        sentence =
            "\(schema.name): \(Format.count(count, "row breaks", or: "rows break")) CHECK(\(check.split(whereSeparator: \.isWhitespace).joined(separator: " "))) of this device's table, and \(Format.word(count, "was", or: "were")) written where the table has no such constraint: \(listed); correct \(Format.word(count, "it", or: "them")) on any device"
    }
}
