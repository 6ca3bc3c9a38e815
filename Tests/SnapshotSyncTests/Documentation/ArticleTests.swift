import CloudStore
import Foundation
import GRDB
import SnapshotModel
import StrictText
import Synchronization
import TestSupport
import Testing

/// The articles of the reference: their examples are those that are compiled here, and do what the articles say.
@Suite(.timeLimit(.minutes(60))) struct ArticleTests {
    private static let root = Repository.root

    /// A shop's database with two tables, one of them of drafts.
    private static let shop = """
        CREATE TABLE products(number TEXT PRIMARY KEY NOT NULL, name TEXT, cents INTEGER);
        CREATE TABLE drafts(number TEXT PRIMARY KEY NOT NULL, text TEXT);
        INSERT INTO products VALUES('4011', 'Bananas', 99), ('4225', 'Avocado', 149);
        """

    /// The text of each example in the articles.
    private static func examples() throws -> [(article: String, code: String)] {
        let sources = root.appendingPathComponent("Sources")
        let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
        return try files.filter { $0.pathExtension == "md" && $0.path.contains(".docc/") }.flatMap { file in
            let parts = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "```swift\n").dropFirst()
            return parts.map { (file.lastPathComponent, $0.components(separatedBy: "```")[0]) }
        }
    }

    @Test func everyExampleIsCompiled() throws {
        // Those of modules that are not in the umbrella lie in the tests of those modules.
        let files = ["SnapshotSyncTests/Documentation", "SnapshotObservationTests", "CloudKitCloudTests"]
        let compiled = try files.map { try String(contentsOf: Self.root.appendingPathComponent("Tests/\($0)/ArticleExamples.swift"), encoding: .utf8) }.joined()
        let examples = try Self.examples()
        #expect(examples.count == 17)
        for (article, code) in examples { #expect(compiled.contains(code), "\(article): ArticleExamples.swift lacks\n\(code)") }
    }

    @Test func rowsTravelAndVersionsComeBack() async throws {
        let scratch = try ScratchDirectory(), shell = SQLiteShell("shop.db", in: scratch.path)
        try shell.run(Self.shop)
        let share = scratch.path("share"), database = scratch.path("shop.db"), till = scratch.path("till.db")
        #expect(try await publishFirstVersion(of: DatabasePool(path: database), to: share) == 1)
        #expect(try await importNewestVersion(into: DatabasePool(path: till), from: share) == ["products: 2"])
        #expect(try SQLiteShell("till.db", in: scratch.path).run("SELECT name FROM products ORDER BY 1") == "Avocado\nBananas\n")

        try shell.run("UPDATE products SET cents = 129 WHERE number = '4225'")
        #expect(try await syncOnce(whenever: database, changes: 2) == 2)
        #expect(try await lastChange(of: SyncEngine(database: database)) == ["products: 0 added, 1 changed, 0 removed"])
        #expect(try await goBack(to: 1, in: SyncEngine(database: database)) == 3)
        #expect(try shell.run("SELECT cents FROM products WHERE number = '4225'") == "149\n")
        #expect(try await canBeRestored(SyncEngine(database: database)))

        // A watch shows the version, and the keys that it changed.
        let engine = try SyncEngine(database: till), shown = Mutex<[String]>([]), keys = Mutex<Set<String>>([])
        let listener = reloads(of: "products", from: engine) { changed in keys.withLock { $0.formUnion((changed ?? []).compactMap(\.text)) } }
        try shell.run("UPDATE products SET cents = 99 WHERE number = '4225'")
        _ = try await SyncEngine(database: database).sync()
        let watch = watch(engine) { text in shown.withLock { $0.append(text) } }
        try await Eventually.holds("the watch has shown the version") { shown.withLock { $0.contains("version 4") } }
        try await Eventually.holds("the key was told") { keys.withLock { $0 == ["4225"] } }
        watch.cancel()
        listener.cancel()
        _ = try? await watch.value
    }

    @Test func memoryServesTestsOfApplications() async throws {
        let scratch = try ScratchDirectory()
        try SQLiteShell("desk.db", in: scratch.path).run(Self.shop)
        #expect(try await rowsAfterOneSync(from: DatabasePool(path: scratch.path("desk.db")), to: DatabasePool(path: scratch.path("phone.db"))) == 2)
        #expect(await brokenPromises { MemoryCloudDatabase().store } == [])
        #expect(try await titles(in: MemoryCloudDatabase(), device: "desk") == [])
        let cloud = MemoryCloudDatabase(), database = scratch.path("manager.db")
        let request = SetupRequest(database: database, cloud: "memory", role: .writer, device: "desk", createsTables: true, enables: true)
        _ = try await SyncEngine.setUp(request, in: cloud)
        try SQLiteShell("manager.db", in: scratch.path).run("INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('b', 'Work', '', '')")
        #expect(try await namesOfBuckets(CloudKitSyncManager(.init(database: database, cloud: cloud))) == ["Work"])
    }

    @Test func errorsHaveWordsInBothLanguages() {
        let error = SyncError(.tryAgainLater, at: "shop.db", "another run of snapsync works on this database")
        let english = words(for: error, in: .english), italian = words(for: error, in: .italian)
        #expect(english.tryAgain && italian.tryAgain && english.title != italian.title && !english.title.isEmpty)
    }
}
