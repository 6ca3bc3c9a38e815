import TestSupport
import Testing

/// A command with a bucket loads libcurl on a thread of its own, and may end before that is loaded.
@Suite(.runsPrograms) struct CurlLoadingTests {
    /// Four at a time work on one database, so that some end at once and some later. One of fifty crashed while libcurl was loaded.
    @Test func aCommandEndsInOrderWhileLibcurlIsLoaded() throws {
        let scratch = try ScratchDirectory()
        let output = try Python.run(
            """
            import collections, sqlite3, subprocess, sys
            sqlite3.connect(sys.argv[2]).execute('CREATE TABLE items(id TEXT PRIMARY KEY)')
            words = [sys.argv[1], 'init', '--db', sys.argv[2], '--tables', 'items', '--cloud', 's3://BU/app', '--endpoint', 'http://127.0.0.1:9', '--role', 'writer']
            ends = collections.Counter()
            for _ in range(int(sys.argv[3])):
                started = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(4)]
                ends.update(process.wait() for process in started)
            print(*sorted(ends))
            """, [BuiltCommand.path(), scratch.path("app.db"), "40"])
        // The bucket's name is not allowed, or another run has the database.
        #expect(output == "75 78\n" || output == "78\n", "\(output)")
    }
}
