import SnapshotModel
import StrictText

extension VersionTable {
    /// The keys that words of a command line can mean, one word for each column of the key. In a column without a type, `17` is a number or a text.
    ///
    /// - Throws: ``SyncError`` with `.refused` if there are more or fewer words than columns.
    func keys(_ words: [String]) throws -> [EntityKey] {
        guard words.count == schema.keyIndices.count else {
            throw SyncError(
                .refused, step: .read, at: "table \(schema.table)",
                "a key of this table has \(Format.count(schema.keyIndices.count, "value")), not \(words.count)",
                hint: "give a value for each of: \(schema.keyColumns.map(\.column).joined(separator: ", "))")
        }
        var rows = [Array(repeating: OwnedValue.null, count: schema.columns.count)]
        for (index, word) in zip(schema.keyIndices, words) {
            let values = Self.values(word, affinity(index))
            rows = rows.flatMap { row in
                values.map { value in
                    var row = row
                    row[index] = value
                    return row
                }
            }
        }
        return rows.compactMap { $0.lending { schema.key(of: $0) } }
    }

    private static func values(_ word: String, _ affinity: Affinity) -> [OwnedValue] {
        let text = OwnedValue.text(Array(word.utf8))
        guard affinity != .text else { return [text] }
        if let number = Int64(word) { return affinity == .number ? [.integer(number)] : [.integer(number), text] }
        if let real = Double(word), real.isFinite { return affinity == .number ? [.real(real.bitPattern)] : [.real(real.bitPattern), text] }
        let folded = word.folded
        guard folded.hasPrefix("x'"), folded.hasSuffix("'"), let blob = Hexadecimal.bytes(folded.text.utf8.dropFirst(2).dropLast()) else { return [text] }
        return [.blob(blob), text]
    }
}
