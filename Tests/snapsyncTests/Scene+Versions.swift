import Foundation
import TestSupport
import Testing

extension Scene {
    /// Sets the times of all files of the cloud back, as if nothing had been written for days.
    func age(_ folder: String = "cloud") throws {
        let run = try ProgramRun("find", [folder, "-type", "f", "-exec", "touch", "-d", "3 days ago", "{}", "+"], in: scratch.path)
        try #require(run.status == 0, "\(run.errorText)")
    }

    /// Marks so many notifications as read, as an application does; `first` chooses which.
    func markRead(_ count: Int, from first: Int = 0, in name: String = "phone.db") throws {
        try database(name).run(
            """
            UPDATE notifications SET (readAt, updatedAt) = (SELECT now, now FROM (SELECT strftime('%Y-%m-%dT%H:%M:%fZ') AS now))
            WHERE rowid IN (SELECT rowid FROM notifications ORDER BY (rowid + \(first)) % (SELECT count(*) FROM notifications), rowid LIMIT \(count))
            """)
    }

    /// Publishes so many versions more, each with one notification marked as read.
    func publishMore(_ count: Int, db: String = "phone.db") throws {
        for number in 1...count {
            try markRead(1, from: number, in: db)
            try succeed("sync \(db) --quiet")
        }
    }

    /// The versions that `log` lists, newest first.
    func versions(_ source: String = "cloud") throws -> [Int] {
        try #require(try json("log \(source)")["versions"] as? [[String: Any]]).compactMap { $0["version"] as? Int }
    }

    /// The files in a folder of the zone.
    func files(_ folder: String) throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: scratch.path("\(zone)/\(folder)")).sorted() }

    /// The container of a version, as `show` prints it.
    func container(_ version: Int, of dataset: String = "notifications", _ source: String = "cloud") throws -> String {
        try succeed("show \(source) \(dataset) --at \(version)")
    }

    /// A scalar that `sqlite3` finds.
    func value(_ sql: String, in database: String) throws -> String {
        try self.database(database).run(sql).trimmingCharacters(in: .newlines)
    }
}
