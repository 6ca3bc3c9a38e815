import CloudStore
import RecordZones

extension ContractCheck {
    /// Fetching records by name, completely or in part.
    static let fetching: [ContractCheck] = [
        ContractCheck("recordsAreFetchedByName") { test in
            let zone = try await test.makeZone()
            try await zone.modify(saving: (0..<5).map { test.item($0, name: "r\($0)") }).get()
            let found = try await zone.records(["r1", "r3", "nobody", "../../etc/passwd"])
            try test.expect(try found["r3"]?.get().fields["count"], is: .integer(3), "a record")
            for name in ["nobody", "../../etc/passwd"] {
                guard case .failure(let error) = found[name] else { return try test.expect(false, "a record that is not there was found") }
                try test.expect(error.code, is: .unknownItem, "a record that is not there")
            }
            try await test.expect(.unknownItem, "a single record") { _ = try await zone.record("nobody") }
        },
        ContractCheck("desiredKeysAreAllThatComes") { test in
            let zone = try await test.makeZone()
            try await zone.save(CloudRecord(type: "Item", name: "item", fields: ["a": .integer(1), "b": .integer(2)]))
            try test.expect(try await zone.record("item", desiredKeys: ["b", "zzz"]).fields, is: ["b": .integer(2)], "one field")
            let bare = try await zone.record("item", desiredKeys: [])
            try test.expect(bare.fields.isEmpty && bare.changeTag != nil && bare.creation != nil, "no field, and all else")
        },
        ContractCheck("aFetchSeesWhatWasSavedBeforeIt") { test in
            let zone = try await test.makeZone(), reader = test.device("reader")
            var record = try await zone.save(test.item(0))
            for number in 1...20 {
                record.fields["count"] = .integer(Int64(number))
                record = try await zone.save(record)
                try test.expect(try await reader.record("item").fields["count"], is: .integer(Int64(number)), "the record at once")
            }
            try await zone.delete("item")
            try await test.expect(.unknownItem, "a deleted record") { _ = try await reader.record("item") }
        },
    ]
}
