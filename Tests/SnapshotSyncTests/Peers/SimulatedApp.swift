import Foundation
import GRDB

/// An application's own connection to its database, on a machine whose clock says what the test wants.
final class SimulatedApp {
    private let queue: DatabaseQueue
    private let clock: Clock

    // SQLite's own clock is asked by triggers; on this connection it is the test's.
    private final class Clock: @unchecked Sendable {
        // SAFETY: a history runs one step after another.
        var milliseconds: Int64 = 0
    }

    init(path: String, isWAL: Bool) throws {
        let clock = Clock()
        self.clock = clock
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            db.add(function: DatabaseFunction("julianday", argumentCount: 1) { _ in 2440587.5 + Double(clock.milliseconds) / 86_400_000 })
            try db.execute(sql: "PRAGMA synchronous = OFF")
        }
        queue = try DatabaseQueue(path: path, configuration: configuration)
        if isWAL { _ = try queue.inDatabase { try String.fetchOne($0, sql: "PRAGMA journal_mode = WAL") } }
    }

    /// The clock in microseconds as triggers see it when it was set to that many milliseconds: they reckon in days.
    static func clock(of milliseconds: Int64) -> Int64 {
        let day = 2440587.5 + Double(milliseconds) / 86_400_000
        return Int64((day - 2440587.5) * 86_400_000 + 0.5) * 1000
    }

    /// Runs one statement at a time of the machine's clock.
    func run(_ sql: String, _ arguments: [String?] = [], clock milliseconds: Int64 = 0) throws {
        clock.milliseconds = milliseconds
        try queue.inDatabase { try $0.execute(sql: sql, arguments: StatementArguments(arguments)) }
    }

    /// What a query finds, each value as text.
    func fetch(_ sql: String) throws -> [[String?]] {
        try queue.inDatabase { try GRDB.Row.fetchAll($0, sql: sql).map { row in (0..<row.count).map { row[$0] } } }
    }
}
