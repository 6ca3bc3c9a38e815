import CloudStore
import RecordZones
import Foundation
import StrictText
import Testing

struct QueryTests {
    private func record(_ name: String, _ value: CloudValue) -> CloudRecord { CloudRecord(type: "Item", name: name, fields: ["value": value]) }

    private func zone(_ records: [CloudRecord]) async throws -> CloudZone {
        let cloud = MemoryCloudDatabase()
        _ = try await cloud.createZone(.standard, creator: "writer", publishers: .one)
        let zone = CloudZone(.standard, of: cloud, as: "writer")
        try await zone.modify(saving: records).get()
        return zone
    }

    /// Where a conversion of the integer to a double would round.
    @Test func integersAndDoublesCompareByTheirExactValues() {
        let cases: [(Int64, RecordPredicate.Comparison, Double, Bool)] = [
            (1 << 53 + 1, .greaterThan, 0x1p53, true), (1 << 53 + 1, .equal, 0x1p53, false), (.max, .lessThan, 0x1p63, true),
            (.max, .equal, 0x1p63, false), (.min, .equal, -0x1p63, true), (.min, .greaterThan, -0x1.0000000000001p63, true), (0, .equal, -0.0, true),
            (-1, .lessThan, -0.5, true), (-1, .greaterThan, -1.5, true), (5, .atMost, 5, true), (5, .atLeast, 5.5, false),
            (1, .lessThan, .infinity, true), (1, .equal, .nan, false), (1, .lessThan, .nan, false), (1, .atLeast, .nan, false),
        ]
        for (integer, comparison, double, holds) in cases {
            let found = RecordPredicate.compare("value", comparison, .double(double)).matches(record("r", .integer(integer)))
            #expect(found == holds, "\(integer) \(comparison) \(double)")
        }
        #expect(!RecordPredicate.compare("value", .atLeast, .double(.nan)).matches(record("r", .double(1))))
    }

    /// However a page is picked, small by insertion or large by sorting, pages make up the whole order.
    @Test(arguments: [1, 7, 499, 500, 501, 1200])
    func pagesOfAnySizeMakeUpTheWholeOrder(size: Int) async throws {
        // Few values, so that many records are equal but for their names.
        let count = size < 10 ? 110 : 1100
        let records = (0..<count).map { record("r\($0 * 7919 % count)", .integer(Int64($0 * 31 % 9))) }
        let zone = try await zone(records)
        for isAscending in [true, false] {
            let query = RecordQuery("Item", where: .compare("value", .notEqual, .integer(4)), sortedBy: [RecordSort("value", ascending: isAscending)])
            let expected = records.filter { $0.fields["value"] != .integer(4) }.sorted { left, right in
                guard case .integer(let one) = left.fields["value"], case .integer(let two) = right.fields["value"] else { return false }
                return one == two ? left.name < right.name : (one < two) == isAscending
            }.map(\.name)
            var page = try await zone.records(matching: query, limit: size)
            var found = page.records.map(\.name)
            #expect(page.records.count == min(size, expected.count))
            while let cursor = page.cursor, found.count < 1500 {
                page = try await zone.records(continuing: cursor, limit: size == 1 ? 300 : size)
                found += page.records.map(\.name)
            }
            #expect(found == expected)
        }
    }

    @Test func stringsCompareByTheirBytes() {
        let composed = record("r", .string("\u{e9}"))
        #expect(!RecordPredicate.compare("value", .equal, .string("e\u{301}")).matches(composed))
        #expect(RecordPredicate.compare("value", .greaterThan, .string("z")).matches(composed))
    }

    @Test func recordsOfMixedTypesHaveOneOrder() async throws {
        let values: [CloudValue] = [
            .boolean(false), .boolean(true), .integer(-1), .double(0.5), .integer(1), .date(Instant(microseconds: 0)), .string(""), .string("a"),
            .bytes(Data([1])), .reference(RecordReference(to: "x")), .list([]), .list([.integer(1)]),
        ]
        let shuffled = values.enumerated().map { record("r\(($0.offset * 7) % values.count)-\($0.offset)", $0.element) }
        let zone = try await zone(shuffled)
        let up = try await zone.records(matching: RecordQuery("Item", sortedBy: [RecordSort("value")])).records.map { $0.fields["value"] }
        #expect(up == values)
        let down = try await zone.records(matching: RecordQuery("Item", sortedBy: [RecordSort("value", ascending: false)])).records
        #expect(down.map { $0.fields["value"] } == values.reversed())
    }

    @Test func aCursorOfAnotherCloudIsRefused() async throws {
        let records = (0..<5).map { record("r\($0)", .integer($0)) }
        let one = try await zone(records), other = try await zone(records)
        let cursor = try #require(try await one.records(matching: RecordQuery("Item"), limit: 2).cursor)
        await expectCloudError(.invalidArguments) { try await other.records(continuing: cursor) }
        #expect(try await one.records(continuing: cursor).records.map(\.name) == ["r2", "r3", "r4"])
    }

    @Test func predicatesNestedTooDeepAreRefused() async throws {
        let zone = try await zone([record("r", .integer(1))])
        var predicate = RecordPredicate.all
        for _ in 0..<31 { predicate = .not(predicate) }
        #expect(try await zone.records(matching: RecordQuery("Item", where: predicate)).records.isEmpty)
        for _ in 0..<40 { predicate = .and([predicate]) }
        await expectCloudError(.invalidArguments) { try await zone.records(matching: RecordQuery("Item", where: predicate)) }
    }
}
