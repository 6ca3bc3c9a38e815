import LocalStore
import LocalTables
import SnapshotModel
import StrictText
import Testing

@Suite struct ConflictJournalTests {
    private let things: TrackedThings
    private var database: LocalDatabase { things.database }
    private let now = Instant(microseconds: 1_780_000_000_000_000)

    init() throws {
        things = try TrackedThings(rows: "('a', '2026-01-01T00:00:00Z', 1, 'A')")
        try things.database.write { try $0.initialize(.example) }
    }

    private func conflict(_ key: String, loser: String? = "{\"id\":\"a\",\"n\":1}", winner: String? = "{\"id\":\"a\",\"n\":2}") -> Conflict {
        Conflict(
            dataset: "things", key: EntityKey(key), reason: .laterEdit, loser: ConflictSide(entity: loser, instant: now, device: "phone"),
            winner: ConflictSide(entity: winner, instant: now.advanced(byMicroseconds: 1), device: nil), detail: "told by a test")
    }

    @Test func anEntryIsReadAsItWasRecorded() throws {
        let one = conflict("nul\0inside", winner: nil)
        let id = try #require(try database.write { try $0.conflictJournal.record(one, at: now) })
        let found = try #require(try database.read { try $0.conflictJournal.entry(id) })
        #expect(found.conflict == one)
        #expect(found.recordedAt == now)
        #expect(found.state == .open)
        #expect(try database.read { try $0.conflictJournal.openCount() } == 1)
    }

    @Test func equalSidesAreNoConflict() throws {
        #expect(try database.write { try $0.conflictJournal.record(conflict("a", loser: nil, winner: nil), at: now) } == nil)
        #expect(try database.write { try $0.conflictJournal.record(conflict("a", loser: "{}", winner: "{}"), at: now) } == nil)
        #expect(try database.read { try $0.conflictJournal.entries() }.isEmpty)
    }

    @Test func anEntryOfATransactionThatFailsIsGone() throws {
        struct Stop: Error {}
        #expect(throws: (any Error).self) {
            try database.write { transaction in
                try transaction.conflictJournal.record(conflict("a"), at: now)
                throw Stop()
            }
        }
        #expect(try database.read { try $0.conflictJournal.openCount() } == 0)
    }

    @Test func whatTheUserDidIsKept() throws {
        let ids = try database.write { transaction in try ["a", "b", "c"].compactMap { try transaction.conflictJournal.record(conflict($0), at: now) } }
        try #require(ids == [1, 2, 3])
        #expect(try database.write { try $0.conflictJournal.set(ids[0], to: .taken) })
        #expect(try database.write { try $0.conflictJournal.set(99, to: .taken) } == false)
        #expect(try database.read { try $0.conflictJournal.openCount(after: ids[1]) } == 1)
        #expect(try database.write { try $0.conflictJournal.clear() } == 2)
        #expect(try database.read { try $0.conflictJournal.entries().map(\.state) } == [.taken, .cleared, .cleared])
        #expect(try database.read { try $0.conflictJournal.openCount() } == 0)
    }

    @Test func oldEntriesGoAndTheirIdsAreNotGivenAgain() throws {
        try database.write { transaction in for key in ["a", "b"] { try transaction.conflictJournal.record(conflict(key), at: now) } }
        let later = now.advanced(byMicroseconds: ConflictJournal.retention + 1)
        let id = try database.write { try $0.conflictJournal.record(conflict("c"), at: later) }
        #expect(id == 3)
        #expect(try database.read { try $0.conflictJournal.entries().map(\.conflict.key) } == [EntityKey("c")])
        #expect(try database.read { try $0.conflictJournal.removedCount() } == 2)
    }

    @Test func theOldestGoWhereTheJournalIsFull() throws {
        let large = "{\"id\":\"a\",\"text\":\"" + String(repeating: "x", count: 1_048_576) + "\"}"
        try database.write { transaction in for number in 0..<40 { try transaction.conflictJournal.record(conflict("\(number)", loser: large), at: now) } }
        let entries = try database.read { try $0.conflictJournal.entries() }
        #expect(entries.last?.conflict.key == EntityKey("39"))
        #expect((10...16).contains(entries.count))
        #expect(try database.read { try $0.conflictJournal.removedCount() } == 40 - entries.count)
    }
}
