import GRDB
import SnapshotSync

/// An application with a GRDB pool of its own, as small as one can be: its tables are made by its own migrations, its screen is a `ValueObservation`.
///
///     stockroom add DB ITEM COUNT  a change that somebody makes in the application
///     stockroom show DB CLOUD      what its screen shows, before and after one sync
@main struct Stockroom {
    struct Item: Codable, Equatable, FetchableRecord, PersistableRecord {
        static let databaseTableName = "items"
        var code: String
        var count: Int
        var changed: String
    }

    static func main() async {
        do { try await run(Array(CommandLine.arguments.dropFirst())) } catch {
            // An error in words: the same text that an alert would show.
            let shown = PresentableError(error, in: .english)
            print("stockroom: \(shown.title). \(shown.nextStep ?? "")")
        }
    }

    private static func run(_ arguments: [String]) async throws {
        switch arguments.first {
        case "add" where arguments.count == 4: try add(arguments[2], Int(arguments[3]) ?? 0, to: open(arguments[1]))
        case "show" where arguments.count == 3: try await show(open(arguments[1]), cloud: arguments[2])
        default: print("stockroom: add DB ITEM COUNT, or show DB CLOUD")
        }
    }

    /// The application's own pool, with its own migrations.
    private static func open(_ path: String) throws -> DatabasePool {
        let pool = try DatabasePool(path: path)
        var migrator = DatabaseMigrator()
        migrator.registerMigration("items") { database in
            try database.create(table: "items") { table in
                table.primaryKey("code", .text)
                table.column("count", .integer).notNull()
                table.column("changed", .text).notNull()
            }
        }
        try migrator.migrate(pool)
        return pool
    }

    private static func add(_ code: String, _ count: Int, to pool: DatabasePool) throws {
        try pool.write { try Item(code: code, count: count, changed: "2026-01-02T08:00:00Z").upsert($0) }
    }

    /// What the screen shows: the observation gives the rows now, and again as soon as the import is committed on the same pool.
    private static func show(_ pool: DatabasePool, cloud: String) async throws {
        // The first time, this sets the database up. The zone has the description of the tables.
        let engine = try await SyncEngine(pool, location: .folder(cloud), role: .peer) { $0.device = "shop-floor" }
        try engine.setEnabled(true)
        // An observation may give one value twice, for example where the file was written to while it began.
        let observation = ValueObservation.tracking { try Item.order(Column("code")).fetchAll($0) }.removeDuplicates()
        var screens = observation.values(in: pool).makeAsyncIterator()
        draw("before", try await screens.next() ?? [])
        let report = try await engine.sync()
        if report.imported?.applied == true { draw("after", try await screens.next() ?? []) }
        print("version \(report.exported?.version ?? report.imported?.version ?? 0)")
    }

    private static func draw(_ title: String, _ items: [Item]) {
        print("\(title): " + (items.isEmpty ? "nothing" : items.map { "\($0.code) \($0.count)" }.joined(separator: ", ")))
    }
}
