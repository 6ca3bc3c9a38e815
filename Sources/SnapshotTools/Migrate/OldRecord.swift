import Foundation
import LocalStore
import SnapshotFormat
import SnapshotModel
import StrictText

/// One entity in the old layout, read from its file and checked.
struct OldRecord: Sendable {
    /// The path relative to the directory.
    let file: String
    let schema: DatasetSchema
    let key: EntityKey
    /// When the entity was last changed; nil if the dataset has no timestamp.
    let instant: Instant?
    /// The entity's JSON object.
    let json: Data
    let unknownFields: Set<String>

    /// Fields that describe the record and are no fields of the entity.
    static let envelopeFields: Set<String> = ["recordType", "recordName"]

    /// Decodes a file's bytes as an entity of one dataset.
    ///
    /// - Throws: ``BadRecord`` with the reason, which never contains the entity's values.
    init(_ data: Data, file: String, schema: DatasetSchema) throws {
        let row = RowValues()
        let block = EntityBlock()
        do {
            let reader = ContainerReader(schemas: [schema], read: Self.source(of: [data], schema))
            while try reader.next(reusing: block) != nil { try block.give(to: row) }
        } catch let error as FormatError {
            throw BadRecord(reason: "\(error.reason) (\(error.place))")
        }
        guard !row.values.isEmpty, let key = row.values.lending({ schema.key(of: $0) }) else { throw BadRecord(reason: "it holds no entity") }
        try Self.checkNested(data, schema)
        self.file = file
        self.schema = schema
        self.key = key
        do {
            instant = try row.values.lending { values in
                guard schema.timestampUnit == nil, let index = schema.timestampIndex, case .text(let bytes) = values[index] else {
                    return RowInstant(schema)?.instant(in: values)
                }
                return try Instant(parsing: bytes)
            }
        } catch let error as InstantError {
            throw BadRecord(reason: "\(schema.timestampIndex.map { schema.columns[$0].name } ?? "the timestamp") is \(error)")
        }
        json = data
        unknownFields = block.unknownFieldNames.subtracting(Self.envelopeFields)
    }

    /// Makes a container of these entities and returns a function that reads it in pieces.
    static func source(of entities: [Data], _ schema: DatasetSchema) -> (UnsafeMutableRawBufferPointer) throws -> Int {
        var pieces = [Data("{\"syncTimestamp\":\"1970-01-01T00:00:00Z\",\"\(schema.name)\":[".utf8)]
        for (number, entity) in entities.enumerated() {
            if number > 0 { pieces.append(Data(",".utf8)) }
            pieces.append(entity)
        }
        pieces.append(Data("]}".utf8))
        var piece = 0, offset = 0
        return { buffer in
            while piece < pieces.count, offset == pieces[piece].count { (piece, offset) = (piece + 1, 0) }
            guard piece < pieces.count else { return 0 }
            let count = min(buffer.count, pieces[piece].count - offset)
            pieces[piece].withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<offset + count])) }
            offset += count
            return count
        }
    }

    /// Checks that the nested JSON of the built-in datasets is complete, because old records stored it as text. ``Notification`` itself accepts
    /// any JSON there.
    private static func checkNested(_ data: Data, _ schema: DatasetSchema) throws {
        do {
            if schema == .buckets { _ = try JSONDecoder().decode(Bucket.self, from: data) }
            if schema == .notifications { _ = try JSONDecoder().decode(Nested.self, from: data) }
        } catch {
            throw BadRecord(reason: DatasetFile.explain(error))
        }
    }

    /// The nested values of a notification, in the form that applications write.
    private struct Nested: Decodable {
        struct Attachment: Decodable {
            let mediaType: String
            let url: String?
            let name: String?
        }

        struct Action: Decodable {
            let type: String
            let value: String?
            let title: String?
            let icon: String?
            let destructive: Bool
        }

        let attachments: [Attachment]
        let actions: [Action]
        let tapAction: Action?
    }
}

/// Why a file cannot be migrated.
struct BadRecord: Error {
    let reason: String
}
