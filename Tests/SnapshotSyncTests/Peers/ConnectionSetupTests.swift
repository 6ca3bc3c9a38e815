import CloudStore
import Foundation
import GRDB
import GRDBSQLite
import SnapshotModel
import StrictText
import TestSupport
import Testing

/// An application registers functions and collations on the connections that the engine opens.
@Suite struct ConnectionSetupTests {
    private let scratch: ScratchDirectory
    private let cloud = MemoryCloudDatabase()

    /// A collation that ignores everything but letters, and a function for a CHECK.
    private static let setup: ConnectionSetup = { connection in
        let code = sqlite3_create_collation_v2(
            connection, "LETTERS", SQLITE_UTF8, nil,
            { _, count, text, otherCount, other in
                func letters(_ text: UnsafeRawPointer?, _ count: Int32) -> String {
                    String(decoding: UnsafeRawBufferPointer(start: text, count: Int(count)), as: UTF8.self).filter(\.isLetter).lowercased()
                }
                let (one, another) = (letters(text, count), letters(other, otherCount))
                return one < another ? -1 : one > another ? 1 : 0
            }, nil)
        sqlite3_create_function_v2(
            connection, "app_fits", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nil,
            { context, _, values in sqlite3_result_int(context, sqlite3_value_bytes(values?[0]) < 20 ? 1 : 0) }, nil, nil, nil)
        guard code == SQLITE_OK else { throw Failure() }
    }

    private struct Failure: Error {}

    init() throws { scratch = try ScratchDirectory() }

    private func path(_ name: String) -> String { scratch.path("\(name).db") }

    /// An application's own connection.
    private func application(_ name: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.prepareDatabase { try Self.setup(#require($0.sqliteConnection)) }
        return try DatabaseQueue(path: path(name), configuration: configuration)
    }

    private func edit(_ name: String, _ sql: String) throws { try application(name).inDatabase { try $0.execute(sql: sql) } }

    private func request(_ name: String, _ setup: ConnectionSetup?, role: SyncRole = .peer) -> SetupRequest {
        var request = SetupRequest(database: path(name), cloud: "memory", role: role, device: name, enables: true)
        request.tables = TableChoice()
        request.connectionSetup = setup
        return request
    }

    private func engine(_ name: String) throws -> SyncEngine {
        try SyncEngine(database: path(name), cloud: cloud, options: EngineOptions(connectionSetup: Self.setup))
    }

    private func rows(_ name: String) throws -> [String] {
        try application(name).read { try String.fetchAll($0, sql: "SELECT id || ' ' || name FROM people ORDER BY id") }
    }

    private static let table = """
        CREATE TABLE people(id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL CHECK(app_fits(name)));
        CREATE UNIQUE INDEX by_name ON people(name COLLATE LETTERS);
        """

    @Test func peersSettleAUniqueIndexByTheApplicationsCollation() async throws {
        for name in ["one", "two"] { try edit(name, Self.table) }
        for name in ["one", "two"] { _ = try await SyncEngine.setUp(request(name, Self.setup), in: cloud) }
        try edit("one", "INSERT INTO people VALUES('a', 'Ann-Marie')")
        _ = try await engine("one").sync()
        try edit("two", "INSERT INTO people VALUES('b', 'ann marie'), ('c', 'Ben')")
        for name in ["two", "one", "two"] { _ = try await engine(name).sync() }
        #expect(try rows("one") == ["a Ann-Marie", "c Ben"])
        #expect(try rows("two") == ["a Ann-Marie", "c Ben"])
        // The value is free again, so the held row returns.
        try edit("one", "DELETE FROM people WHERE id = 'a'")
        for name in ["one", "two", "one", "two"] { _ = try await engine(name).sync() }
        for name in ["one", "two"] {
            #expect(try rows(name) == ["b ann marie", "c Ben"])
            #expect(try await engine(name).inspector().verify(local: true).problems == [])
        }
    }

    @Test func withoutItTheTableIsRefusedByName() async throws {
        try edit("one", Self.table)
        let error = try await #require(throws: SyncError.self) { _ = try await SyncEngine.setUp(request("one", nil, role: .writer), in: cloud) }
        #expect(error.code == .refused && "\(error)".contains("LETTERS"), "\(error)")
        #expect(try SyncEngine.describe(path("one")).unfit.map(\.table) == ["people"])
        #expect(try SyncEngine.describe(path("one"), connectionSetup: Self.setup).unfit.isEmpty)
    }

    @Test func whatItThrowsStopsTheOpening() throws {
        try edit("one", Self.table)
        #expect(throws: (any Error).self) {
            _ = try SyncEngine(database: path("one"), cloud: cloud, options: EngineOptions(connectionSetup: { _ in throw Failure() }))
        }
    }
}
