import LocalStore
import LocalTables
import SnapshotModel
import StrictText
import TestSupport
import Testing

@Suite struct SettingsTests {
    private func scene() throws -> LocalScene {
        let scene = try LocalScene("CREATE TABLE notes(id INTEGER PRIMARY KEY, text TEXT); INSERT INTO notes VALUES(1, 'mine');")
        try scene.database.write { try $0.initialize(.example) }
        return scene
    }

    @Test(arguments: SyncRole.allCases, [false, true]) func settingsComeBackAsTheyWereWritten(role: SyncRole, replaces: Bool) throws {
        let scene = try LocalScene("")
        var settings = SyncSettings.example
        settings.role = role
        settings.replacesOwnRows = replaces
        settings.datasets = [
            try DatasetSchema(
                name: "things", table: "odd \"table\"", keys: ["k"], timestamp: "t",
                columns: [DatasetColumn("k", .integer, column: "key; DROP"), DatasetColumn("t", .text), DatasetColumn("b", .blob, isOptional: true)]
            ) { ($0.recordType, $0.recordName) = ("Thing", "thing_record") }
        ]
        try scene.database.write { try $0.initialize(settings) }
        #expect(try scene.database.read { try $0.settings.read() } == settings)
    }

    @Test func aDatabaseThatWasNotSetUpSaysSo() throws {
        let scene = try LocalScene("CREATE TABLE notes(id INTEGER PRIMARY KEY);")
        #expect(try !scene.database.read { try $0.settings.exists() })
        let error = try #require(throws: SyncError.self) { try scene.database.read { try $0.settings.read() } }
        #expect(error.database == .notInitialized)
        #expect(try #require(error.hint).contains("snapsync init"))
    }

    @Test func settingUpTwiceIsRefusedAndChangesNothing() throws {
        let scene = try scene()
        let before = try scene.app.dump()
        #expect(throws: SyncError.self) { try scene.database.write { try $0.initialize(.example) } }
        #expect(try scene.app.dump() == before)
    }

    @Test func stateComesBackAsItWasWritten() throws {
        let scene = try scene()
        let version = AppliedVersion(number: 42, hash: String(repeating: "0a", count: 32))
        let instant = Instant(microseconds: 1_763_718_000_123_456)
        let state = DatasetState(name: "notifications", syncTimestamp: instant, recordCount: 7, unknownFields: ["a\"b", "ü", ""])
        #expect(try scene.database.read { try $0.state.applied() } == nil)
        try scene.database.write { transaction in
            try transaction.state.setApplied(version)
            try transaction.state.setIntended(IntendedVersion(version: AppliedVersion(number: 43, hash: "ff"), sequences: ["notifications": 7]))
            try transaction.state.undoPoint.set(UndoPoint(act: "file it's \"mine\".gz", at: instant, copy: nil, version: 1))
            try transaction.state.setLastSuccess(instant)
            try transaction.datasetStates.set(state)
        }
        let found = try scene.database.read {
            (try $0.state.applied(), try $0.state.intended(), try $0.state.undoPoint(), try $0.state.lastSuccess(), try $0.datasetStates.all())
        }
        #expect(found.0 == version)
        #expect(found.1 == IntendedVersion(version: AppliedVersion(number: 43, hash: "ff"), sequences: ["notifications": 7]))
        #expect(found.2?.act == "file it's \"mine\".gz")
        #expect(found.3 == instant)
        #expect(found.4 == [state])
        try scene.database.write { transaction in
            try transaction.state.setIntended(nil)
            try transaction.state.undoPoint.set(nil)
        }
        #expect(try scene.database.read { try $0.state.intended() } == nil)
        #expect(try scene.database.read { try $0.state.undoPoint()?.act } == nil)
    }

    @Test(arguments: [
        "DELETE FROM snapsync_settings WHERE key = 'zone'",
        "UPDATE snapsync_settings SET value = 'king' WHERE key = 'role'",
        "UPDATE snapsync_settings SET value = '{\"formatVersion\": 1}' WHERE key = 'datasets'",
        "UPDATE snapsync_settings SET value = 'no JSON' WHERE key = 'datasets'",
        "UPDATE snapsync_settings SET value = x'ff00' WHERE key = 'cloud'",
        "UPDATE snapsync_settings SET value = 5 WHERE key = 'role'",
    ])
    func settingsThatSomebodyBrokeAreDamage(sql: String) throws {
        let scene = try scene()
        try scene.app.run(sql)
        let error = try #require(throws: SyncError.self) { try scene.database.read { try $0.settings.read() } }
        #expect(error.database == .damaged)
        #expect(error.place.hasSuffix("snapsync_settings"))
    }

    @Test func settingsOfANewerProgramAskForAnUpdate() throws {
        let scene = try scene()
        try scene.app.run("UPDATE snapsync_settings SET value = '2' WHERE key = 'formatVersion'")
        let error = try #require(throws: SyncError.self) { try scene.database.read { try $0.settings.read() } }
        #expect(error.database == .schemaMismatch)
        #expect(error.hint == "update snapsync")
    }

    @Test(arguments: [
        "INSERT INTO snapsync_state VALUES('applied', 'no JSON')",
        "INSERT INTO snapsync_state VALUES('applied', x'fffe')",
        "INSERT INTO snapsync_datasets VALUES('a', 'yesterday', 1, '[]')",
        "INSERT INTO snapsync_datasets VALUES('a', '2026-01-01T00:00:00Z', 'many', '[]')",
        "INSERT INTO snapsync_datasets VALUES('a', '2026-01-01T00:00:00Z', 1, '[1]')",
        "INSERT INTO snapsync_datasets VALUES(x'ff', x'ff', x'ff', x'ff')",
    ])
    func stateThatSomebodyBrokeIsDamage(sql: String) throws {
        let scene = try scene()
        try scene.app.run(sql)
        let error = try #require(throws: SyncError.self) {
            try scene.database.read { transaction in
                _ = try transaction.state.applied()
                _ = try transaction.datasetStates.all()
            }
        }
        #expect(error.database == .damaged)
    }
}
