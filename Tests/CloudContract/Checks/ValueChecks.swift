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
                "doubles": .list([-0.0, 0, .greatestFiniteMagnitude].map { .double($0) }), "last": .date(try Instant(parsing: "9999-12-31T23:59:59.999999Z")),
                "texts": .list(["\u{0}\u{1f}\u{7f}", "../..", "\u{10FFFF}"].map { .string($0) }),
                "strong": .reference(RecordReference(to: "item", action: .deleteSelf)), "emptyList": .list([]),
                "list": .list([.list([.integer(1), .bytes(Data([0]))]), .string("x"), .reference(RecordReference(to: "nobody"))]),
            ]
            try await zone.save(CloudRecord(type: "Item", name: "item", fields: fields))
            let found = try await test.device("reader").record("item").fields
            for (key, value) in fields { try test.expect(found[key], is: value, "the field \(key)") }
            try test.expect(found.count, is: fields.count, "the number of fields")
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
