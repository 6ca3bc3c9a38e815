import Foundation
@testable import SnapshotModel
import StrictText
import Testing

/// What a description says of readers' edits, and the messages that carry them.
@Suite struct MessagePolicyTests {
    private func file(_ messages: String, name: String = "tasks", key: String = "id") -> String {
        """
        {"formatVersion": 1, "datasets": [{"name": "\(name)", "key": "\(key)", "timestamp": "at", \(messages)"columns": [
          {"name": "id", "type": "text"}, {"name": "number", "type": "integer"}, {"name": "at", "type": "text"},
          {"name": "done", "type": "boolean"}, {"name": "readAt", "type": "text", "optional": true}]}]}
        """
    }

    private func schema(_ messages: String, name: String = "tasks", key: String = "id") throws -> DatasetSchema {
        try #require(try DatasetFile.decode(file(messages, name: name, key: key)).first)
    }

    @Test func aReaderTellsNothingUnlessTheDescriptionSaysSo() throws {
        #expect(try schema("").messages == .none)
        #expect(try schema("").messages.isEmpty)
        let rows = try schema("\"messages\": {\"rows\": true}, ")
        #expect(rows.messages == .wholeRows && rows.messages.delete)
        #expect(rows.permissions == ReaderPermissions(columns: nil, inserts: true, deletes: true))
        let patch = try schema("\"messages\": {\"patch\": [\"done\"], \"delete\": true}, ")
        #expect(patch.patchedColumns == [3] && patch.permissions == ReaderPermissions(columns: [3, 2], inserts: false, deletes: true))
    }

    @Test func theBuiltInDatasetsTellWhatTheyAlwaysHave() throws {
        #expect(DatasetSchema.buckets.messages == .wholeRows && DatasetSchema.buckets.takesBuiltInMessages)
        #expect(DatasetSchema.notifications.messages == MessagePolicy(patch: ["readAt"], delete: true))
        #expect(DatasetSchema.notifications.takesBuiltInMessages && DatasetSchema.notifications.markColumns.count == 1)
        let text = try String(decoding: DatasetFile.encode(DatasetSchema.builtIn), as: UTF8.self)
        #expect(!text.contains("messages"))
        // A table of that name whose key is no text tells nothing, unless it is said.
        #expect(try schema("", name: "buckets", key: "number").messages == .none)
        #expect(try schema("\"messages\": {}, ", name: "buckets").messages == .none)
        #expect(try !schema("\"messages\": {\"rows\": true}, ", name: "buckets", key: "number").takesBuiltInMessages)
    }

    @Test(arguments: ["", "\"messages\": {\"rows\": true}, ", "\"messages\": {\"patch\": [\"done\", \"number\"]}, ", "\"messages\": {\"delete\": true}, "])
    func aPolicyIsPartOfTheFileAndOfTheZonesDescription(_ messages: String) throws {
        let schema = try schema(messages)
        #expect(try DatasetFile.decode(DatasetFile.encode([schema])) == [schema])
        #expect(try DatasetFile.decode(DatasetFile.text([schema])) == [schema])
        let columns = schema.columns.map { TableStructure.Column(column: $0.column, declared: .text, notNull: false, collation: .binary) }
        let structure = TableStructure(
            columns: columns, primaryKey: ["id"], autoincrement: false, withoutRowid: false, strict: false, unique: [], references: [])
        let text = try DatasetDescription(schema: schema, structure: structure).text()
        #expect(text.hasSuffix("}") && text.contains("\"formatVersion\":1,"))
        #expect(text.contains("messages") == !messages.isEmpty)
        #expect(try DatasetDescription(text).schema == schema)
        // Columns that go take their part of the policy with them.
        let fewer = try schema.with(columns: schema.columns.filter { $0.name != "number" })
        #expect(fewer.messages.patch == schema.messages.patch.filter { $0 != "number" })
        #expect(try schema.with { $0.table = "other" }.messages == schema.messages)
    }

    @Test(arguments: [
        ("\"messages\": {\"rows\": true, \"patch\": [\"done\"]}, ", "not both"), ("\"messages\": {\"patch\": [\"gone\"]}, ", "not among the columns"),
        ("\"messages\": {\"patch\": [\"id\"]}, ", "the key or the timestamp"), ("\"messages\": {\"patch\": [\"at\"]}, ", "the key or the timestamp"),
        ("\"messages\": {\"patch\": [\"done\", \"done\"]}, ", "one twice"), ("\"messages\": {\"row\": true}, ", "the key is not known"),
    ])
    func whatMakesNoSenseIsRefused(_ messages: String, _ reason: String) throws {
        let error = try #require(throws: (any Error).self) { try DatasetFile.decode(Data(file(messages).utf8)) }
        #expect(DatasetFile.explain(error).contains(reason))
    }

    @Test func aBareMessageIsThreeFields() throws {
        let mark = SyncUpdateMessage(type: .notificationRead, entityId: "n-17", timestamp: "2026-11-21T07:32:00.250Z", readAt: "2026-11-21T07:32:00Z")
        let text = try String(decoding: StrictJSON.encode(mark), as: UTF8.self)
        #expect(text == #"{"entityId":"n-17","readAt":"2026-11-21T07:32:00Z","timestamp":"2026-11-21T07:32:00.250Z","type":"notificationRead"}"#)
        #expect(try StrictJSON.decode(SyncUpdateMessage.self, from: Data(text.utf8)) == mark)
        let full = SyncUpdateMessage(type: .fullSync, timestamp: "t")
        #expect(try String(decoding: StrictJSON.encode(full), as: UTF8.self) == #"{"timestamp":"t","type":"fullSync"}"#)
    }

    @Test(arguments: [
        (EntityKey("17"), "\"17\"", "17"), (.integer(-17), "-17", "-17"),
        (EntityKey(encoding: [.text(Array("a".utf8)), .integer(1)]), "[\"a\",1]", "[\"a\",1]"),
        (EntityKey(encoding: [.blob([0, 255])]), "[{\"base64\":\"AP8=\"}]", "[{\"base64\":\"AP8=\"}]"), (EntityKey(encoding: [.real(1.5)]), "[1.5]", "[1.5]"),
    ])
    func aKeyOfAnyShapeStandsInAMessage(_ key: EntityKey, _ json: String, _ text: String) throws {
        let edit = HandedOverEdit(number: 7, dataset: "tasks", key: key)
        let bytes = try StrictJSON.encode(edit)
        #expect(String(decoding: bytes, as: UTF8.self) == "{\"dataset\":\"tasks\",\"id\":\(json),\"number\":7}")
        #expect(try StrictJSON.decode(HandedOverEdit.self, from: bytes) == edit)
        #expect(key.plainText == text)
    }
}
