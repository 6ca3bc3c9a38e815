import CloudStore
import StrictText
import Testing

/// Every backend refuses the same drafts and brings back the same values.
@Suite(.serialized) struct DraftContractTests {
    private func item(_ fields: [String: CloudValue] = [:], name: String = "item", type: String = "Item") -> CloudRecord {
        CloudRecord(type: type, name: name, fields: fields)
    }

    @Test(arguments: Backend.allCases)
    func everyValueComesBackAsItWas(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let texts = ["", "\u{0}\u{1f}\u{7f}\u{2028}", "../..", "'; DROP TABLE", "é e\u{301} 👩‍👧 \u{202e}abc", "\"\\/\n", "\u{10FFFF}"]
        let doubles: [Double] = [0, -0.0, 0.1, 1e300, -.leastNonzeroMagnitude, 4, .greatestFiniteMagnitude]
        let fields: [String: CloudValue] = [
            "texts": .list(texts.map { .string($0) }), "doubles": .list(doubles.map { .double($0) }),
            "integers": .list([Int64.min, -1, 0, 1 << 53 + 1, .max].map { .integer($0) }),
            "yes": .boolean(true), "no": .boolean(false), "empty": .list([]), "nested": .list([.list([.integer(1)]), .string("x")]),
            "dates": .list([.date(try .at("0001-01-01T00:00:00Z")), .date(try .at("9999-12-31T23:59:59.999999Z"))]),
        ]
        try await test.publish(CommitDraft(device: "writer", saving: [item(fields)], clock: .now), after: nil)
        #expect(try await test.cloud.records(in: .standard).record("item")?.fields == fields)
    }

    @Test(arguments: Backend.allCases)
    func aCommitThatChangesNothingIsRefused(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        await expectCloudError(.invalidArguments) {
            try await test.publish(CommitDraft(device: "writer", saving: [], clock: .now), after: nil)
        }
        #expect(try await test.cloud.changes(since: nil, in: .standard).token == nil)
    }

    @Test(arguments: Backend.allCases)
    func aRecordStandsInACommitOnce(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        for draft in [
            CommitDraft(device: "writer", saving: [item(), item()], clock: .now),
            CommitDraft(device: "writer", saving: [item()], deleting: ["item"], clock: .now),
            CommitDraft(device: "writer", saving: [], deleting: ["a", "a"], clock: .now),
        ] { await expectCloudError(.invalidArguments) { try await test.publish(draft, after: nil) } }
    }

    @Test(arguments: Backend.allCases)
    func namesThatCouldNotBeFilesAreRefused(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone(publishers: .many)
        let bad = ["", ".", "..", ".hidden", "a/b", "../x", "a b", "é", "a\u{0}", "\u{1b}[2J", String(repeating: "x", count: 65)]
        for name in bad {
            await expectCloudError(.invalidArguments) { try await test.cloud.createZone(ZoneID(name), creator: "writer", publishers: .one) }
            await expectCloudError(.invalidArguments) { try await test.cloud.changes(since: nil, in: ZoneID(name)) }
            await expectCloudError(.invalidArguments) { try await test.cloud.createZone(ZoneID("Z"), creator: name, publishers: .one) }
            await expectCloudError(.invalidArguments) { try await test.cloud.newAsset(for: name, number: 1, kind: .snapshot, in: .standard) }
            let drafts = [
                CommitDraft(device: name, saving: [item()], clock: .now),
                CommitDraft(device: "writer", saving: [item(name: name)], clock: .now),
                CommitDraft(device: "writer", saving: [item(type: name)], clock: .now),
                CommitDraft(device: "writer", saving: [item([name: .boolean(true)])], clock: .now),
                CommitDraft(device: "writer", saving: [], deleting: [name], clock: .now),
            ]
            for draft in drafts { await expectCloudError(.invalidArguments) { try await test.publish(draft, after: nil) } }
            for report in [
                DeviceReport(device: name, role: "reader", token: nil, clock: .now), DeviceReport(device: "d", role: name, token: nil, clock: .now),
            ] { await expectCloudError(.invalidArguments) { try await test.cloud.report(report, in: .standard) } }
        }
        for name in ["a", "A-b_c.d", "0", String(repeating: "x", count: 64), "buckets_data"] {
            _ = try await test.cloud.createZone(ZoneID(name), creator: "writer", publishers: .one)
        }
    }

    @Test(arguments: Backend.allCases)
    func valuesThatNobodyCouldReadBackAreRefused(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        var deep = CloudValue.list([])
        for _ in 0..<6 { deep = .list([deep]) }
        for value in [CloudValue.double(.nan), .double(.infinity), .list([.double(-.infinity)]), deep, .date(Instant(microseconds: .max))] {
            await expectCloudError(.invalidArguments) {
                try await test.publish(CommitDraft(device: "writer", saving: [item(["field": value])], clock: .now), after: nil)
            }
        }
    }

    @Test(arguments: Backend.allCases)
    func onlyTheNamedDevicePublishes(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        await expectCloudError(.notAuthorized) { try await test.save(1, after: nil, by: "reader") }
        let token = try await test.save(1, after: nil)
        await expectCloudError(.notAuthorized) { try await test.save(2, after: token, by: "reader") }
        #expect(try await test.cloud.changes(since: token, in: .standard).commits.isEmpty)
    }

    @Test(arguments: Backend.allCases)
    func theFirstCommitIsTheCreatorsThoughManyPublish(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone(publishers: .many)
        await expectCloudError(.notAuthorized) { try await test.save(1, after: nil, by: "peer") }
        let token = try await test.save(1, after: nil)
        try await test.save(2, after: token, by: "peer")
    }

    @Test(arguments: Backend.allCases)
    func theFirstCommitNeedsAnEmptyZone(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        _ = try await test.history(of: 18)
        for number in 1...17 { try test.damageCommit(number) { $0 = nil } }
        await expectCloudError(.serverRecordChanged) { try await test.save(1, after: nil) }
        try test.damageCommit(18) { $0 = nil }
        // Only the checkpoint has arrived.
        await expectCloudError(.serverRecordChanged) { try await test.save(1, after: nil) }
        await expectCloudError(.damaged) { try await test.cloud.changes(since: nil, in: .standard) }
        try test.damageCommit(1) { #expect($0 == nil) }
    }

    @Test(arguments: Backend.allCases)
    func anUnsetClockDoesNotPublish(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let day: Int64 = 86_400_000_000
        for clock in [
            try .at("1999-12-31T23:59:59.999999Z"), try .at("2100-01-01T00:00:00.000001Z"), Instant(microseconds: .min),
            Instant.now.advanced(byMicroseconds: day + 60_000_000), Instant.now.advanced(byMicroseconds: -day - 60_000_000),
        ] { await expectCloudError(.clockUnusable) { try await test.save(1, after: nil, clock: clock) } }
        #expect(try await test.cloud.changes(since: nil, in: .standard).token == nil)
        let ahead = Instant.now.advanced(byMicroseconds: day - 60_000_000)
        try await test.save(1, after: nil, clock: ahead)
    }

    @Test(arguments: Backend.allCases)
    func errorsRepeatNoNameAndNoValue(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let error = await expectCloudError(.invalidArguments) {
            try await test.publish(CommitDraft(device: "writer", saving: [item(["f": .double(.nan)], name: "\u{1b}[31msecret")], clock: .now), after: nil)
        }
        #expect(error?.description.contains("secret") == false)
    }
}
