import CloudStore
import RecordZones
import Foundation
import StrictText

extension ContractCheck {
    /// Field values are read back as they were written.
    static let values: [ContractCheck] = [
        ContractCheck("everyTypeOfValueComesBack") { test in
            let zone = try await test.makeZone()
            let fields: [String: CloudValue] = [
                "empty": .string(""), "text": .string("é e\u{301} 👩‍👧 \u{202e}abc \u{0}\u{1f}\u{7f}\u{2028} '; DROP TABLE \"\\/\n"),
                "small": .integer(.min), "large": .integer(.max), "odd": .integer(1 << 53 + 1), "tenth": .double(0.1), "huge": .double(1e300),
                "tiny": .double(-.leastNonzeroMagnitude), "four": .double(4), "yes": .boolean(true), "no": .boolean(false),
                "micro": .date(Instant(microseconds: 1_700_000_000_123_457)), "early": .date(Instant(microseconds: -62_135_596_800_000_000)),
                "none": .bytes(Data()), "bytes": .bytes(Data((0...255).map { UInt8($0) })), "weak": .reference(RecordReference(to: "nobody")),
                "strong": .reference(RecordReference(to: "item", action: .deleteSelf)), "emptyList": .list([]),
                "list": .list([.list([.integer(1), .bytes(Data([0]))]), .string("x"), .reference(RecordReference(to: "nobody"))]),
            ]
            try await zone.save(CloudRecord(type: "Item", name: "item", fields: fields))
            let found = try await test.device("reader").record("item").fields
            for (key, value) in fields { try test.expect(found[key], is: value, "the field \(key)") }
            try test.expect(found.count, is: fields.count, "the number of fields")
        },
        ContractCheck("extremeValuesComeBackAsTheyWere") { test in
            try await test.makeZone(.one)
            let texts = ["", "\u{0}\u{1f}\u{7f}\u{2028}", "../..", "'; DROP TABLE", "é e\u{301} 👩‍👧 \u{202e}abc", "\"\\/\n", "\u{10FFFF}"]
            let doubles: [Double] = [0, -0.0, 0.1, 1e300, -.leastNonzeroMagnitude, 4, .greatestFiniteMagnitude]
            let fields: [String: CloudValue] = [
                "texts": .list(texts.map { .string($0) }), "doubles": .list(doubles.map { .double($0) }),
                "integers": .list([Int64.min, -1, 0, 1 << 53 + 1, .max].map { .integer($0) }), "yes": .boolean(true), "no": .boolean(false),
                "empty": .list([]), "nested": .list([.list([.integer(1)]), .string("x")]),
                "dates": .list(try ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"].map { .date(try Instant(parsing: $0)) }),
            ]
            try await test.publish([CloudRecord(type: "Item", name: "item", fields: fields)], after: nil)
            try test.expect(try await test.state().record("item")?.fields, is: fields, "the fields")
        },
        ContractCheck("valuesSurviveACheckpoint") { test in
            let zone = try await test.makeZone()
            let fields: [String: CloudValue] = [
                "bytes": .bytes(Data([0, 255])), "to": .reference(RecordReference(to: "kept", action: .deleteSelf)), "micro": .date(Instant(microseconds: 1)),
                "tenth": .double(0.1),
            ]
            try await zone.save(CloudRecord(type: "Item", name: "kept", fields: fields))
            for number in 1...40 { try await zone.save(test.item(Int64(number)), savePolicy: .allKeys) }
            let record = try await test.device("reader").record("kept")
            try test.expect(record.fields, is: fields, "the fields")
            try test.expect(record.changeTag, is: "1", "the change tag")
            try test.expect(record.creation?.device, is: "writer", "the creator")
        },
    ]
}
