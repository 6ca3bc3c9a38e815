import Foundation
import LocalStore
import LocalTables
import SnapshotModel
import StrictText
import Synchronization
import TestSupport
import Testing

@testable import SnapshotEngine
@testable import SnapshotVersions

/// The database's preference and an application's own settings never disagree for longer than a look.
@Suite struct PreferenceBindingTests {
    /// What each side says, what both last agreed on, and what must come out: the database, the store, the agreement, the word that counts.
    @Test(
        arguments: [
            // Never looked at together: agree, or off; a store that says nothing has no say.
            (true, true, nil, true), (false, false, nil, false), (true, false, nil, false), (false, true, nil, false), (true, nil, nil, true),
            (false, nil, nil, false),
            // Neither has moved.
            (true, true, true, true), (false, false, false, false),
            // Only the store has moved: the user's word.
            (true, false, true, false), (false, true, false, true),
            // Only the database has moved.
            (true, false, false, true), (false, true, true, false),
            // Both have moved, the same way.
            (true, true, false, true), (false, false, true, false),
            // The store was reset.
            (true, nil, true, true), (true, nil, false, true), (false, nil, true, false), (false, nil, false, false),
        ] as [(Bool, Bool?, Bool?, Bool)])
    func everyStateEndsInOneWord(database: Bool, store: Bool?, agreed: Bool?, expected: Bool) async throws {
        let scene = try await GateScene()
        let time = scene.sync.clock.now()
        try LocalDatabase(path: scene.sync.scratch.path("writer.db")).write { transaction in
            // The database's word is older than the agreement, unless it differs from it.
            try transaction.settings.setPreference(SyncPreference(SyncChoice(isOn: database), changedAt: time))
            try transaction.state.preferenceAgreement.set(agreed.map { PreferenceAgreement(isOn: $0, at: scene.sync.clock.now()) })
        }
        scene.settings.set(store)
        for _ in 0..<2 {
            #expect(try await scene.closed(preference: true) == (expected ? nil : .preferenceOff))
            #expect(try scene.isOn() == expected)
            #expect(scene.settings.isOn == expected)
        }
    }

    @Test func whereBothMovedTheLaterCountsAndElseOff() async throws {
        for (isBoundLater, knowsWhen, expected) in [(true, true, true), (false, true, false), (true, false, false), (false, false, false)] {
            let scene = try await GateScene()
            try scene.gate(preference: true).setPreference(true)
            // The database was turned on again after an off that never reached the store, and the store was turned off and on, say.
            let early = scene.sync.clock.now(), late = scene.sync.clock.now()
            try LocalDatabase(path: scene.sync.scratch.path("writer.db")).write {
                try $0.settings.setPreference(SyncPreference(.off, changedAt: isBoundLater ? early : late))
            }
            scene.settings.set(true, at: knowsWhen ? (isBoundLater ? late : early) : nil)
            // Without a time the store has not moved: its value is the agreed one. The database's word counts, which is off.
            #expect(try await scene.closed(preference: true) == (expected ? nil : .preferenceOff), "\(isBoundLater) \(knowsWhen)")
            #expect(try scene.isOn() == expected && scene.settings.isOn == expected)
        }
    }

    @Test func turningOnIsTakenBackWhereTheStoreCannotBeWritten() async throws {
        let scene = try await GateScene()
        try scene.gate(preference: true).setPreference(false)
        scene.settings.state.withLock { $0.breaksBeforeStore = true }
        #expect(throws: SyncError.self) { try scene.gate(preference: true).setPreference(true) }
        #expect(try scene.isOn() == false && scene.settings.isOn == false)
        scene.settings.mend()
        #expect(try scene.gate(preference: true).setPreference(true) == nil)
        #expect(try scene.isOn() && scene.settings.isOn == true)
    }

    @Test func turningOffCountsAtOnceWhateverTheStoreDoes() async throws {
        for breaks in [\BoundSettings.State.breaksAtLoad, \.breaksBeforeStore, \.breaksAfterStore] as [WritableKeyPath<BoundSettings.State, Bool> & Sendable] {
            let scene = try await GateScene()
            try scene.gate(preference: true).setPreference(true)
            scene.settings.state.withLock { $0[keyPath: breaks] = true }
            #expect(try scene.gate(preference: true).setPreference(false)?.contains("next run") == true)
            #expect(try await scene.closed(preference: true) == .preferenceOff)
            scene.settings.mend()
            #expect(try await scene.closed(preference: true) == .preferenceOff)
            #expect(scene.settings.isOn == false)
        }
    }

    @Test func storeThatCannotBeReadCloses() async throws {
        let scene = try await GateScene()
        try scene.gate(preference: true).setPreference(true)
        scene.settings.state.withLock { $0.breaksAtLoad = true }
        #expect(try await scene.closed(preference: true) == .preferenceUnknown)
        scene.settings.mend()
        #expect(try await scene.closed(preference: true) == nil)
    }

    @Test func oneWhoTurnsOnNowOverridesWhatTheStoreSaidBefore() async throws {
        let scene = try await GateScene()
        try scene.gate(preference: true).setPreference(true)
        scene.settings.set(false)
        try scene.gate(preference: true).setPreference(true)
        #expect(try await scene.closed(preference: true) == nil)
        #expect(scene.settings.isOn == true)
    }

    @Test func wordOfAClockThatWasAheadIsWrittenOnceAndBindsNobody() async throws {
        let scene = try await GateScene()
        scene.sync.clock.move(bySeconds: 400 * 86_400)
        try scene.gate(preference: true).setPreference(true)
        scene.sync.clock.move(bySeconds: -400 * 86_400)
        #expect(try await scene.closed(preference: true) == nil)
        let before = try scene.sync.writer.dump()
        #expect(try await scene.closed(preference: true) == nil)
        #expect(try scene.sync.writer.dump() == before)
        scene.settings.set(false)
        #expect(try await scene.closed(preference: true) == .preferenceOff)
        scene.settings.set(true)
        #expect(try await scene.closed(preference: true) == nil)
    }

    /// Undecided is no word against the store's, and a choice that is taken back is taken back in both places.
    @Test(arguments: [true, false])
    func undecidedTakesTheStoresWordAndCanBeReturnedTo(word: Bool) async throws {
        let scene = try await GateScene()
        let closed: GateReason.Code? = word ? nil : .preferenceOff
        try scene.gate(preference: true).setPreference(.undecided)
        #expect(try await scene.closed(preference: true) == .preferenceUndecided && scene.settings.isOn == nil)
        scene.settings.set(word)
        #expect(try await scene.closed(preference: true) == closed)
        #expect(try scene.choice() == SyncChoice(isOn: word))
        try scene.gate(preference: true).setPreference(.undecided)
        #expect(try scene.choice() == .undecided && scene.settings.isOn == nil)
        #expect(try await scene.closed(preference: true) == .preferenceUndecided)
        // The same word as before counts again: what was agreed on before is forgotten.
        scene.settings.set(word)
        #expect(try await scene.closed(preference: true) == closed)
    }

    @Test func choiceTakenBackByARunThatWasKilledIsTakenBackInTheStoreLater() async throws {
        let scene = try await GateScene()
        try scene.gate(preference: true).setPreference(true)
        let time = scene.sync.clock.now()
        try LocalDatabase(path: scene.sync.scratch.path("writer.db")).write { try $0.settings.setPreference(SyncPreference(.undecided, changedAt: time)) }
        #expect(try await scene.closed(preference: true) == .preferenceUndecided)
        #expect(scene.settings.isOn == nil)
        // A store that cannot be written keeps sync closed all the same.
        scene.settings.set(true)
        #expect(try await scene.closed(preference: true) == nil)
        scene.settings.state.withLock { $0.breaksBeforeStore = true }
        #expect(try scene.gate(preference: true).setPreference(.undecided)?.contains("next run") == true)
        #expect(try await scene.closed(preference: true) == .preferenceUndecided)
        scene.settings.mend()
        #expect(try await scene.closed(preference: true) == .preferenceUndecided && scene.settings.isOn == nil)
    }

    @Test func userDefaultsAndDatabaseAgree() async throws {
        let scene = try await GateScene()
        let suite = "snapsync-test-\(UUID().uuidString)", defaults = try #require(UserDefaults(suiteName: suite))
        defer { defaults.removePersistentDomain(forName: suite) }
        let binding = DefaultsPreference(key: "sync", suiteName: suite)
        let cloud = scene.sync.cloud
        let gate = try SyncEngine(
            database: scene.sync.scratch.path("writer.db"),
            options: EngineOptions(gate: GateOptions(preference: binding), now: scene.sync.clock.now) { _ in cloud }
        ).gate
        try gate.setPreference(.undecided)
        #expect(try await gate.decision().reason?.code == .preferenceUndecided && binding.load() == nil)
        defaults.set(true, forKey: "sync")
        #expect(try await gate.decision() == .open)
        #expect(try scene.choice() == .on)
        try gate.setPreference(false)
        #expect(defaults.object(forKey: "sync") as? Bool == false)
        defaults.set(true, forKey: "sync")
        #expect(try await gate.decision() == .open)
        // Defaults that were reset get what the database says.
        defaults.removeObject(forKey: "sync")
        #expect(try await gate.decision() == .open)
        #expect(defaults.object(forKey: "sync") as? Bool == true)
        try gate.setPreference(.undecided)
        #expect(defaults.object(forKey: "sync") == nil)
        defaults.set("perhaps", forKey: "sync")
        #expect(try await gate.decision().reason?.code == .preferenceUndecided)
        #expect(throws: SyncError.self) { try gate.setPreference(true) }
        #expect(try scene.choice() == .undecided)
    }

    /// Random histories of both switches and of crashes between the steps; the seed is printed with a failure.
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func historiesWithCrashesEndInAgreement(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let scene = try await GateScene()
        let path = scene.sync.scratch.path("writer.db")
        if random.next() % 2 == 0 { scene.settings.state.withLock { $0.clock = scene.sync.clock.now } }
        var agreed: Bool? = true
        for step in 0..<25 {
            switch random.next() % 7 {
            case 0, 1:
                // The application's switch, and then a look: its word counts.
                let wish = random.next() % 2 == 0
                scene.settings.set(wish, at: scene.settings.state.withLock { $0.clock?() })
                agreed = wish
            case 2, 3:
                let wish = random.next() % 2 == 0
                try scene.gate(preference: true).setPreference(wish)
                agreed = wish
            case 4:
                // The process ends behind the database's transaction: the store is not written, or written and not noted.
                let wish = random.next() % 2 == 0
                let time = scene.sync.clock.now()
                try LocalDatabase(path: path).write { try $0.settings.setPreference(SyncPreference(SyncChoice(isOn: wish), changedAt: time)) }
                if random.next() % 2 == 0 { try scene.settings.store(wish) }
                agreed = wish
            case 5:
                try scene.gate(preference: true).setPreference(.undecided)
                agreed = nil
            default:
                scene.settings.set(nil)
            }
            let closed: GateReason.Code? = agreed == nil ? .preferenceUndecided : agreed == true ? nil : .preferenceOff
            #expect(try await scene.closed(preference: true) == closed, "seed \(seed), step \(step)")
            #expect(try scene.choice().isOn == agreed && scene.settings.isOn == agreed, "seed \(seed), step \(step)")
        }
    }
}
