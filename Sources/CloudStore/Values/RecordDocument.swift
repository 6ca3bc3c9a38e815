import StrictText

/// A record as JSON: `{"fields":{…},"name":"…","type":"…"}`. In a checkpoint it also has `changeTag`, `created` and `modified`.
package struct RecordDocument: Codable {
    package let changeTag: String?
    /// Only in a checkpoint; absent in old checkpoints that were written before this field existed.
    package let created: RecordEvent?
    package let modified: RecordEvent?
    package let fields: [String: CloudValue]
    package let name: String
    package let type: String

    /// Makes the document of a record to save (not tagged), or of a live record in a checkpoint (tagged).
    package init(_ record: CloudRecord, tagged: Bool) {
        changeTag = tagged ? record.changeTag : nil
        created = tagged ? record.creation : nil
        modified = tagged ? record.modification : nil
        fields = record.fields
        name = record.name
        type = record.type
    }

    /// The record, tagged with the number of the commit that saved it.
    ///
    /// - Parameter commit: the device and timestamp of the commit that contains the document. nil for a document of a checkpoint, which has
    ///   these values itself.
    package func record(tag: String, savedBy commit: RecordEvent? = nil) -> CloudRecord {
        CloudRecord(
            type: type, name: name, fields: fields, changeTag: tag, creation: commit == nil ? created : nil,
            modification: commit ?? modified)
    }
}

extension CloudRecord {
    /// The largest block index, in bytes. An index is read as a whole.
    package static let indexByteLimit = 64 << 20
    private static let listDepthLimit = 4

    /// Returns what is wrong with a record that commit `number` saves, or nil. The text contains only names that are safe to print.
    package func fault(at number: Int) -> String? {
        guard CloudNames.isName(name) else { return "a record's name is not allowed" }
        guard CloudNames.isIdentifier(type) else { return "the type of record \(name) is not allowed" }
        for (field, value) in fields {
            guard CloudNames.isIdentifier(field) else { return "a field's name in record \(name) is not allowed" }
            if let fault = CloudRecord.fault(in: value, depth: 0) { return "field \(field) of record \(name): \(fault)" }
            for reference in value.references where !CloudNames.isName(reference.record) {
                return "record \(name) refers to a name that is not allowed"
            }
        }
        guard creation?.isPossible ?? true, modification?.isPossible ?? true else {
            return "record \(name) was made by a device or at a time that is not possible"
        }
        for asset in assets {
            guard let path = AssetPath(asset.path), path.record == name, path.number <= number else {
                return "record \(name) names an asset at a path that is not one of its own"
            }
            guard asset.isPlausible else { return "record \(name) names an asset with an impossible size or hash" }
        }
        return nil
    }

    private static func fault(in value: CloudValue, depth: Int) -> String? {
        switch value {
        case .double(let number) where !number.isFinite: return "not a finite number"
        case .date(let instant) where !Instant.representable.contains(instant.microseconds): return "a date outside the years 1 to 9999"
        case .list(let values):
            guard depth < listDepthLimit else { return "lists are nested too deep" }
            for value in values {
                if let fault = fault(in: value, depth: depth + 1) { return fault }
            }
            return nil
        default: return nil
        }
    }
}

extension RecordEvent {
    fileprivate var isPossible: Bool { CloudNames.isName(device) && Instant.representable.contains(at.microseconds) }
}

extension CloudAsset {
    /// The most bytes that an asset may state as its size, compressed or not: 4 TiB. The program adds up such sizes. With this limit, even
    /// the sum over all assets that the largest control document can name does not overflow.
    private static let sizeLimit = 1 << 42

    fileprivate var isPlausible: Bool {
        let sizes = 0...Self.sizeLimit
        guard sizes.contains(byteCount), sizes.contains(rawByteCount), ContentHash.isHash(sha256) else { return false }
        guard let index else { return true }
        return (0...CloudRecord.indexByteLimit).contains(index.byteCount) && ContentHash.isHash(index.sha256)
    }
}

/// The live records of a zone, by name.
package typealias RecordTable = [String: CloudRecord]

extension RecordTable {
    /// The table of these records. Of two with one name the last one stays.
    package init(_ records: [CloudRecord]) { self.init(records.map { ($0.name, $0) }, uniquingKeysWith: { $1 }) }

    /// Adds a record, or puts it in the place of the one with its name, whose creation it gets.
    package mutating func save(_ record: CloudRecord) { self[record.name] = record.following(self[record.name]) }
}
