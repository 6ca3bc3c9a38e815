import CloudStore
import RecordZones
import Foundation

extension ContractCheck {
    /// Searching by type, predicate and order.
    static let queries: [ContractCheck] = [
        ContractCheck("predicatesChooseRecords") { test in
            let zone = try await foods(test)
            let expected: [(RecordPredicate, [String])] = [
                (.all, ["apple", "bread", "cake", "dill", "egg"]),
                (.compare("calories", .equal, .integer(52)), ["apple"]), (.compare("calories", .equal, .double(52)), ["apple"]),
                (.compare("calories", .lessThan, .double(52.5)), ["apple", "dill"]), (.compare("calories", .atLeast, .integer(265)), ["bread", "cake"]),
                (.compare("calories", .notEqual, .integer(52)), ["bread", "cake", "dill"]),
                (.not(.compare("calories", .equal, .integer(52))), ["bread", "cake", "dill", "egg"]),
                (.compare("name", .greaterThan, .string("Cake")), ["dill", "egg"]), (.beginsWith("name", "D"), ["dill"]),
                (.beginsWith("name", ""), ["apple", "bread", "cake", "dill", "egg"]), (.isIn("name", [.string("Egg"), .string("Nothing")]), ["egg"]),
                (.isIn("name", []), []), (.contains("tags", .string("sweet")), ["apple", "cake"]), (.refers("aisle", to: "fresh"), ["apple", "dill"]),
                (.and([.contains("tags", .string("sweet")), .compare("calories", .greaterThan, .integer(100))]), ["cake"]),
                (.or([.beginsWith("name", "A"), .beginsWith("name", "E")]), ["apple", "egg"]), (.and([]), ["apple", "bread", "cake", "dill", "egg"]),
                (.or([]), []), (.compare(.name, .atMost, .string("bread")), ["apple", "bread"]),
                (.compare(.creator, .equal, .string("writer")), ["apple", "bread", "cake", "dill", "egg"]),
                (.compare("calories", .equal, .string("52")), []), (.compare("photo", .equal, .bytes(Data([1, 2]))), ["cake"]),
            ]
            for (predicate, names) in expected {
                let found = try await zone.records(matching: RecordQuery("Food", where: predicate)).records.map(\.name)
                try test.expect(found, is: names, "\(predicate)")
            }
        },
        ContractCheck("sortsOrderRecords") { test in
            let zone = try await foods(test)
            func names(_ sort: RecordSort...) async throws -> [String] {
                try await zone.records(matching: RecordQuery("Food", sortedBy: sort)).records.map(\.name)
            }
            try test.expect(try await names(RecordSort("calories")), is: ["egg", "dill", "apple", "bread", "cake"], "small to large")
            try test.expect(
                try await names(RecordSort("calories", ascending: false)), is: ["cake", "bread", "apple", "dill", "egg"], "large to small")
            try test.expect(
                try await names(RecordSort("aisle"), RecordSort("name", ascending: false)), is: ["egg", "cake", "bread", "dill", "apple"], "two keys")
            try test.expect(try await names(RecordSort(.creationDate, ascending: false)), is: ["egg", "dill", "cake", "bread", "apple"], "newest first")
        },
        ContractCheck("pagesHoldEachRecordOnce") { test in
            let zone = try await test.makeZone()
            try await zone.modify(saving: (0..<23).map { test.item($0 % 4, name: "r\($0)") }).get()
            let query = RecordQuery("Item", sortedBy: [RecordSort("count", ascending: false)])
            let whole = try await zone.records(matching: query).records.map(\.name)
            guard let first = whole.first else { return try test.expect(false, "a query finds nothing of what was saved") }
            var page = try await zone.records(matching: query, limit: 5), names = page.records.map(\.name), pages = 1
            // Records that are added or removed in between do not move the others.
            try await zone.modify(saving: [test.item(9, name: "early")], deleting: [first]).get()
            while let cursor = page.cursor {
                page = try await zone.records(continuing: cursor, limit: 5)
                try test.expect(page.records.count <= 5 && !page.records.isEmpty, "a page's size")
                names += page.records.map(\.name)
                pages += 1
                try test.expect(pages < 50, "the pages have no end")
            }
            try test.expect(names, is: whole, "the records of \(pages) pages")
            try test.expect(pages, is: 5, "the number of pages")
        },
        ContractCheck("impossibleQueriesAreRefused") { test in
            let zone = try await foods(test)
            let queries = [
                RecordQuery("Food", where: .compare("nosuch", .equal, .integer(1))), RecordQuery("Food", sortedBy: [RecordSort("nosuch")]),
                RecordQuery("../Food"), RecordQuery("Food", where: .beginsWith("na me", "x")),
            ]
            for query in queries { try await test.expect(.invalidArguments, "\(query)") { _ = try await zone.records(matching: query) } }
            try await test.expect(.invalidArguments, "a limit of 0") { _ = try await zone.records(matching: RecordQuery("Food"), limit: 0) }
            try test.expect(try await zone.records(matching: RecordQuery("Nothing")).records.isEmpty, "a type without records")
            let other = ZoneID("Other")
            _ = try await test.cloud.createZone(other, creator: "writer", publishers: .many)
            let page = try await zone.records(matching: RecordQuery("Food"), limit: 1)
            guard let cursor = page.cursor else { return try test.expect(false, "a page with more behind it has no cursor") }
            try await test.expect(.invalidArguments, "a cursor of another zone") {
                _ = try await CloudZone(other, of: test.cloud, as: "writer").records(continuing: cursor)
            }
        },
    ]

    private static func foods(_ test: ContractTest) async throws -> CloudZone {
        let zone = try await test.makeZone()
        func food(_ name: String, _ calories: CloudValue?, _ tags: [String], aisle: String?, photo: [UInt8]? = nil) -> CloudRecord {
            var record = CloudRecord(type: "Food", name: name, fields: ["name": .string(name.capitalized), "tags": .list(tags.map { .string($0) })])
            record.fields["calories"] = calories
            record.fields["aisle"] = aisle.map { .reference(RecordReference(to: $0)) }
            record.fields["photo"] = photo.map { .bytes(Data($0)) }
            return record
        }
        let foods = [
            food("apple", .integer(52), ["sweet", "fruit"], aisle: "fresh"), food("bread", .integer(265), [], aisle: "bakery"),
            food("cake", .double(371.5), ["sweet"], aisle: "bakery", photo: [1, 2]), food("dill", .double(43), ["herb"], aisle: "fresh"),
            food("egg", nil, [], aisle: nil),
        ]
        for food in foods { try await zone.save(food) }
        try await zone.save(CloudRecord(type: "Aisle", name: "fresh", fields: ["name": .string("Apple")]))
        return zone
    }
}
