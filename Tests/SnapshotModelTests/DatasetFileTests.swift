import Foundation
@testable import SnapshotModel
import StrictText
import TestSupport
import Testing

@Suite struct DatasetFileTests {
    private let good = """
        {"formatVersion": 1, "datasets": [
          {"name": "readings", "table": "sensor_readings", "key": "id", "timestamp": "changed", "columns": [
            {"name": "id", "type": "integer"}, {"name": "changed", "type": "text", "column": "changed_at"},
            {"name": "value", "type": "real", "optional": true}]}]}
        """

    @Test func aDatasetFileIsReadAsItStands() throws {
        let schema = try #require(try DatasetFile.decode(Data(good.utf8)).first)
        #expect(schema.name == "readings")
        #expect(schema.table == "sensor_readings")
        #expect(schema.recordType == "ReadingsData")
        #expect(schema.recordName == "readings_data")
        #expect(schema.keyColumns.map(\.shape) == [.integer])
        #expect(schema.columns.map(\.column) == ["id", "changed_at", "value"])
        #expect(schema.columns.map(\.isOptional) == [false, false, true])
        #expect(schema.timestampIndex == 1)
    }

    @Test func schemasRoundTripThroughAFile() throws {
        #expect(try DatasetFile.decode(DatasetFile.encode(DatasetSchema.builtIn)) == DatasetSchema.builtIn)
        let read = try DatasetFile.decode(Data(good.utf8))
        #expect(try DatasetFile.decode(DatasetFile.encode(read)) == read)
    }

    @Test func theBuiltInRecordsHaveTheDocumentsNames() {
        #expect(DatasetSchema.builtIn.map(\.recordType) == ["BucketsData", "NotificationsData"])
        #expect(DatasetSchema.builtIn.map(\.recordName) == ["buckets_data", "notifications_data"])
    }

    @Test func namesThatBeginLikeTheZonesOwnRecordsAreTaken() throws {
        for name in ["snapshot", "snapshot_keys", "pin", "pin_1", "SnapshotPin"] {
            let renamed = good.replacingOccurrences(of: "\"readings\"", with: "\"\(name)\"")
            let read = try DatasetFile.decode(Data(renamed.utf8))
            #expect(try DatasetFile.decode(DatasetFile.encode(read)) == read && read[0].name == name)
        }
    }

    @Test(arguments: [
        ("\"formatVersion\": 1", "\"formatVersion\": 2"),
        ("\"optional\"", "\"optionel\""),
        ("\"type\": \"real\"", "\"type\": \"float\""),
        ("\"key\": \"id\"", "\"key\": \"uid\""),
        ("\"key\": \"id\"", "\"key\": \"value\""),
        ("\"timestamp\": \"changed\"", "\"timestamp\": \"time\""),
        ("\"name\": \"value\"", "\"name\": \"id\""),
        ("\"column\": \"changed_at\"", "\"column\": \"ID\""),
        ("\"name\": \"readings\"", "\"name\": \"../x\""),
        ("\"name\": \"readings\"", "\"name\": \"deletions\""),
        ("\"table\": \"sensor_readings\"", "\"table\": \"a\\u0000b\""),
        ("\"id\", \"type\"", "\"id\", \"id\": 1, \"type\""),
        ("]}]}", "]}]"),
        ("\"key\"", "\"recordName\": \"snapshot_keys\", \"key\""), ("\"key\"", "\"recordName\": \"pin_1\", \"key\""),
        ("\"key\"", "\"recordType\": \"SnapshotPin\", \"key\""),
    ])
    func aDatasetFileWithAFaultIsRefused(part: String, replacement: String) {
        let bad = good.replacingOccurrences(of: part, with: replacement)
        #expect(bad != good)
        #expect(throws: (any Error).self) { try DatasetFile.decode(Data(bad.utf8)) }
    }

    @Test func aFaultIsExplainedWithItsPlace() throws {
        let bad = good.replacingOccurrences(of: "\"type\": \"real\"", with: "\"typ\": \"real\"")
        let error = try #require(throws: (any Error).self) { try DatasetFile.decode(Data(bad.utf8)) }
        #expect(DatasetFile.explain(error).hasPrefix("datasets[0].columns[2].typ: the key is not known"))
    }

    /// The words are those of docs/datasets.md, not Swift's.
    @Test(arguments: [
        (
            "\"type\": \"real\"", "\"type\": \"float\"",
            #"datasets[0].columns[2].type: "float" is not known; known are text, integer, real, boolean, json, blob"#
        ),
        ("\"key\": \"id\"", "\"key\": \"id\", \"merge\": \"mine\"", #"datasets[0].merge: "mine" is not known; known are replace, merge, single"#),
        ("\"formatVersion\": 1", "\"formatVersion\": \"1\"", "formatVersion: an integer is expected"), ("\"formatVersion\": 1,", "", "formatVersion"),
        ("\"formatVersion\": 1", "\"formatVersion\": 1.5", "does not fit"),
        ("\"formatVersion\": 1", "\"formatVersion\": 2", "formatVersion 2, this program knows 1"),
        ("\"key\": \"id\"", "\"key\": 5", "datasets[0].key: a string or an array of strings is expected"),
        ("\"key\": \"id\"", "\"key\": null", "datasets[0].key: a string or an array of strings is expected"),
        ("\"optional\": true", "\"optional\": 1", "true or false is expected"), ("\"key\": \"id\", ", "", #"the key "key" is missing"#),
        ("\"key\": \"id\"", "\"key\": \"no\"", "the key is not among the columns"), ("\"key\": \"id\"", "\"key\": []", "the key has no column"),
        ("\"key\": \"id\"", "\"key\": [\"id\", \"id\"]", "twice in the key"),
        ("\"type\": \"integer\"", "\"type\": \"json\"", "a key column cannot be of type json"),
        ("\"type\": \"integer\"", "\"type\": \"integer\", \"optional\": true", "the key cannot be optional"),
        ("\"readings\"", "\"../x\"", "dataset name must be"), ("\"readings\"", "\"syncTimestamp\"", "taken by the format"),
    ])
    func aFaultIsExplainedInThePagesWords(part: String, replacement: String, says: String) throws {
        let bad = good.replacingOccurrences(of: part, with: replacement)
        let error = try #require(throws: (any Error).self) { try DatasetFile.decode(Data(bad.utf8)) }
        let text = DatasetFile.explain(error)
        #expect(text.contains(says) && !text.contains("Expected to decode") && !text.contains("Cannot initialize"), "\(text)")
    }

    @Test func aFileWithoutDatasetsIsExplained() throws {
        let error = try #require(throws: (any Error).self) { try DatasetFile.decode(Data(#"{"formatVersion": 1, "datasets": []}"#.utf8)) }
        #expect(DatasetFile.explain(error).contains("describes no dataset"))
    }
}
