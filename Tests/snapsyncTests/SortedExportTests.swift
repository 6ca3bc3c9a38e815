import Foundation
import TestSupport
import Testing

/// A large table whose keys are random is read as it lies, and its version is in key order all the same.
@Suite(.runsPrograms) struct SortedExportTests {
    /// 40 MB in the order of insertion, with a key of two columns and rows of very different lengths.
    private static let table = """
        CREATE TABLE readings(sensor TEXT NOT NULL, at INTEGER NOT NULL, value REAL, note TEXT, PRIMARY KEY(sensor, at));
        WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < 20000)
        INSERT INTO readings
        SELECT printf('s%08x', (n * 2654435761) % 4294967296), n, n / 8.0, CASE WHEN n % 7 = 0 THEN NULL ELSE hex(zeroblob(n % 2000)) || n END FROM numbers;
        """

    @Test(arguments: ["wal", "delete"]) func theVersionHasEveryRowInKeyOrder(journal: String) throws {
        let scene = try Scene()
        try SQLiteShell("app.db", in: scene.scratch.path).run("PRAGMA journal_mode = \(journal); \(Self.table)")
        try scene.succeed("init app.db cloud --name desk")
        let arguments = ["export", "app.db"]
        if TracedRun.isPossible {
            let traced = try TracedRun(BuiltCommand.path(), arguments, calls: "openat,pwritev", in: scene.scratch.path)
            #expect(traced.run.status == 0, "\(traced.run)")
            // Two files without a name beside the database, and what the table has is in them.
            let folder = scene.scratch.path
            let files = traced.calls.filter { $0.name == "openat" && $0.text.contains("O_TMPFILE") && $0.text.contains("\"\(folder)\"") }
            #expect(files.count >= 1)
            #expect(traced.calls.filter { $0.name == "pwritev" }.compactMap(\.result).reduce(0, +) > 15_000_000)
        } else {
            try scene.succeed(arguments.joined(separator: " "))
        }
        let check = """
            import glob, gzip, json, os, sqlite3
            [name] = [n for n in glob.glob('cloud/private/*/assets/readings_data/*.json.gz') if not n.endswith('.changes.json.gz')]
            rows = json.load(gzip.open(name))['readings']
            assert [(r['sensor'], r['at']) for r in rows] == sorted((r['sensor'], r['at']) for r in rows), 'order'
            mine = [(r['sensor'], r['at'], r.get('value'), r.get('note')) for r in rows]
            assert mine == sqlite3.connect('app.db').execute('SELECT * FROM readings ORDER BY sensor, at').fetchall(), 'rows'
            assert not [n for n in os.listdir('.') if not n.startswith(('app.db', 'cloud'))], os.listdir('.')
            """
        let outcome = try ProgramRun("python3", ["-B", "-c", check], in: scene.scratch.path)
        #expect(outcome.status == 0, "\(outcome)")
        try scene.succeed("check app.db --local")
    }
}
