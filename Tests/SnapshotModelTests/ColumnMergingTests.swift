import Foundation
@testable import SnapshotModel
import StrictText
import Testing

/// Which columns change as one, and which ones nobody misses.
@Suite struct ColumnMergingTests {
    private func schema(_ fields: String) throws -> DatasetSchema {
        let file = """
            {"formatVersion": 1, "datasets": [{"name": "places", "key": ["town", "no"], "timestamp": "at", \(fields)"columns": [
              {"name": "town"}, {"name": "no"}, {"name": "lat"}, {"name": "lon"}, {"name": "seen é"}, {"name": "at"}]}]}
            """
        // The same whichever way it is read.
        let plain = try DatasetFile.decode(file)
        #expect(try DatasetFile.decode(Data(file.utf8)) == plain)
        return try #require(plain.first)
    }

    @Test func groupsAndQuietColumnsAreKnownByPosition() throws {
        let plain = try schema("")
        #expect(plain.declaredGroups == [] && plain.quietColumns == [5])
        let grouped = try schema(#""together": [["lon", "lat"], ["lat", "seen é"]], "quiet": ["seen é"], "#)
        #expect(grouped.declaredGroups == [[2, 3], [2, 4]] && grouped.quietColumns == [4, 5])
        #expect(try schema(#""together": "row", "quiet": [], "#).declaredGroups == [[2, 3, 4, 5]])
        #expect(DatasetSchema.notifications.quietColumns == [4, 7] && DatasetSchema.buckets.quietColumns == [6])
    }

    @Test(arguments: [
        "", #""together": [["lat", "lon"]], "#, #""together": "row", "#, #""quiet": [], "#, #""together": [["lat", "seen é", "at"]], "quiet": ["lon"], "#,
    ])
    func theyArePartOfTheFileAndOfTheZonesDescription(_ fields: String) throws {
        let schema = try schema(fields)
        #expect(try DatasetFile.decode(DatasetFile.encode([schema])) == [schema])
        #expect(try DatasetFile.decode(DatasetFile.text([schema])) == [schema])
        let columns = schema.columns.map { TableStructure.Column(column: $0.column, declared: .text, notNull: false, collation: .binary) }
        let structure = TableStructure(
            columns: columns, primaryKey: ["town", "no"], autoincrement: false, withoutRowid: false, strict: false, unique: [], references: [])
        let text = try DatasetDescription(schema: schema, structure: structure).text()
        #expect(text.contains("together") == fields.contains("together") && text.contains("quiet") == fields.contains("quiet"))
        #expect(try DatasetDescription(text).schema == schema)
        let others = [
            try schema.with { $0.table = "other" }, try schema.with { $0.messages = .wholeRows }, try schema.with { $0.timestamp = nil }, schema.withoutShapes,
        ]
        for other in others {
            #expect(other.merging == schema.merging)
        }
        // Columns that go leave their groups, and a group of one is none.
        let fewer = try schema.with(columns: schema.columns.filter { !["lat", "lon"].contains($0.name) })
        #expect(fewer.merging.quiet == schema.merging.quiet?.filter { $0 != "lon" })
        #expect(fewer.declaredGroups == (fields.contains("row") ? [[2, 3]] : fields.contains("seen é\", \"at") ? [[2, 3]] : []))
    }

    @Test(arguments: [
        (#""together": [["lat", "lng"]], "#, #"together names "lng", which is not among the columns"#),
        (#""together": [["lat", "town"]], "#, #"together names "town", which is of the key"#),
        // Canonically the same as the column's name, and another name.
        ("\"together\": [[\"lat\", \"seen e\u{301}\"]], ", "which is not among the columns"),
        (#""together": [["lat", "lat"]], "#, "together names a column twice"),
        (#""together": [["lat"]], "#, "fewer than two columns"),
        (#""together": [[]], "#, "fewer than two columns"),
        (#""together": "rows", "#, "an array of arrays of strings"),
        (#""together": ["lat", "lon"], "#, "an array of arrays of strings"),
        (#""quiet": ["no"], "#, #"quiet names "no", which is of the key"#),
        (#""quiet": ["x"], "#, #"quiet names "x", which is not among the columns"#),
        (#""quiet": ["lat", "lat"], "#, "quiet names a column twice"),
    ])
    func whatDoesNotMergeIsRefusedByName(_ fields: String, _ reason: String) {
        do {
            _ = try schema(fields)
            Issue.record("\(fields) was accepted")
        } catch {
            #expect(DatasetFile.explain(error).contains(reason), "\(DatasetFile.explain(error))")
        }
    }

    @Test func permissionsAreWhatMessagesCarry() throws {
        #expect(DatasetSchema.buckets.permissions == ReaderPermissions(columns: nil, inserts: true, deletes: true))
        #expect(DatasetSchema.notifications.permissions == ReaderPermissions(columns: [4, 7], inserts: false, deletes: true))
        #expect(try schema("").permissions == ReaderPermissions(columns: [], inserts: false, deletes: false))
        #expect(try schema(#""messages": {"patch": ["lat"]}, "#).permissions == ReaderPermissions(columns: [2, 5], inserts: false, deletes: false))
    }
}
