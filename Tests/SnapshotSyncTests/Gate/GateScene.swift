import CloudStore
import LocalStore
import LocalTables
import SnapshotModel
import StrictText
import Synchronization
import TestSupport

@testable import SnapshotEngine

/// A writer's database, its gate, and what the gate asks.
struct GateScene {
    let sync: SyncScene
    let shop = Shop()
    let settings = BoundSettings()

    init() async throws {
        sync = try await SyncScene(DatasetSchemaSQL.things, datasets: [.everyKind()])
    }

    /// A gate on the writer's database; each time a new one, as each run has.
    func gate(entitlement: Bool = false, preference: Bool = false) throws -> SyncGate {
        let options = GateOptions(entitlement: entitlement ? shop : nil, preference: preference ? settings : nil)
        let cloud = sync.cloud
        return try SyncEngine(database: sync.scratch.path("writer.db"), options: EngineOptions(gate: options, now: sync.clock.now) { _ in cloud }).gate
    }

    /// Why the gate is closed; nil if it is open.
    func closed(entitlement: Bool = false, preference: Bool = false) async throws -> GateReason.Code? {
        try await gate(entitlement: entitlement, preference: preference).decision().reason?.code
    }

    /// What the database says, of three values.
    func choice() throws -> SyncChoice { try LocalDatabase(path: sync.scratch.path("writer.db")).read { try $0.settings.preference().choice } }

    /// Whether the database says on.
    func isOn() throws -> Bool { try LocalDatabase(path: sync.scratch.path("writer.db")).read { try $0.settings.preference().choice == .on } }
}

enum DatasetSchemaSQL {
    static let things = "CREATE TABLE things(id TEXT PRIMARY KEY, changed TEXT, count INTEGER, size REAL, tags TEXT, image BLOB, done INTEGER)"
}

/// Sells entitlements; can be closed.
final class Shop: EntitlementProvider {
    struct Closed: Error {}
    struct State: Sendable {
        var answer: Entitlement?
        var questions = 0
    }
    let state = Mutex(State())
    let wait = Mutex(Duration.zero)

    var asksAgainAfter: Duration { wait.withLock { $0 } }
    var questions: Int { state.withLock { $0.questions } }

    func entitlement() async throws -> Entitlement {
        let answer = state.withLock { state in
            state.questions += 1
            return state.answer
        }
        guard let answer else { throw Closed() }
        return answer
    }

    func answer(_ answer: Entitlement?) { state.withLock { $0.answer = answer } }
}

/// An application's own settings; can break.
final class BoundSettings: PreferenceBinding {
    struct Broken: Error {}
    struct State: Sendable {
        var value: BoundPreference?
        var breaksAtLoad = false
        /// Nothing was written when it breaks.
        var breaksBeforeStore = false
        /// It is written when it breaks.
        var breaksAfterStore = false
        /// Whether a store notes when it was changed.
        var clock: (@Sendable () -> Instant)?
    }
    let state = Mutex(State())

    func load() throws -> BoundPreference? {
        try state.withLock { state in
            if state.breaksAtLoad { throw Broken() }
            return state.value
        }
    }

    func store(_ isOn: Bool?) throws {
        try state.withLock { state in
            if state.breaksBeforeStore { throw Broken() }
            state.value = isOn.map { BoundPreference(isOn: $0, changedAt: state.clock?()) }
            if state.breaksAfterStore { throw Broken() }
        }
    }

    /// The user flips the switch in the application.
    func set(_ isOn: Bool?, at instant: Instant? = nil) { state.withLock { $0.value = isOn.map { BoundPreference(isOn: $0, changedAt: instant) } } }
    var isOn: Bool? { state.withLock { $0.value?.isOn } }
    func mend() { state.withLock { ($0.breaksAtLoad, $0.breaksBeforeStore, $0.breaksAfterStore) = (false, false, false) } }
}
