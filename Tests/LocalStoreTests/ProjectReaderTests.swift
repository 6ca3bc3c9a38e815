@testable import LocalStore
import SnapshotModel
import TestSupport
import Testing

/// Projects read from an application's own tables, whose names and columns are its own.
@Suite struct ProjectReaderTests {
    private func read(_ id: String, _ sql: String, _ tables: ProjectTables = ProjectTables()) throws -> ProjectDraft {
        let scratch = try ScratchDirectory()
        try SQLiteShell("app.db", in: scratch.path).run(sql)
        return try LocalDatabase(path: scratch.path("app.db")).read { try $0.rows.project(id, from: tables) }
    }

    @Test func tablesOfTheDefaultNamesNeedNoWord() throws {
        let draft = try read(
            "7",
            """
            CREATE TABLE projects(id INTEGER PRIMARY KEY, title TEXT, detail TEXT, closed INTEGER, colour TEXT);
            CREATE TABLE items(id INTEGER PRIMARY KEY, projectId INTEGER REFERENCES projects(id), title TEXT, detail TEXT, completed INTEGER, position INTEGER);
            INSERT INTO projects VALUES(7, 'Garden', 'Before the frost', 1, 'green'), (8, 'House', NULL, NULL, NULL);
            INSERT INTO items VALUES(1, 7, 'Dig', NULL, 1, 2), (2, 7, 'Sow', 'beans', 0, 1), (3, 8, 'Paint', '', 0, 1), (4, 7, NULL, NULL, NULL, 3);
            """)
        #expect(
            draft
                == ProjectDraft(
                    id: "7", title: "Garden", detail: "Before the frost", isClosed: true,
                    items: [
                        SharedItem(id: "2", title: "Sow", detail: "beans"), SharedItem(id: "1", title: "Dig", isCompleted: true),
                        SharedItem(id: "4", title: ""),
                    ]))
    }

    @Test func missingColumnsOfNoNeedAreLeftOut() throws {
        let draft = try read(
            "a",
            """
            CREATE TABLE projects(id TEXT PRIMARY KEY, title TEXT) WITHOUT ROWID;
            CREATE TABLE items(id TEXT PRIMARY KEY, project TEXT REFERENCES projects, title TEXT);
            INSERT INTO projects VALUES('a', 'A');
            INSERT INTO items VALUES('2', 'a', 'two'), ('1', 'a', 'one');
            """)
        #expect(draft == ProjectDraft(id: "a", title: "A", items: [SharedItem(id: "1", title: "one"), SharedItem(id: "2", title: "two")]))
    }

    /// The tables of an app that keys by row and names by UUID, with quotes in its names.
    @Test func foreignKeysAreFollowedToTheColumnThatTheyName() throws {
        let tables = ProjectTables(
            projects: "the \"project\"", items: "task", columns: [.projectID: "uuid", .projectTitle: "name", .itemTitle: "na\"me", .itemCompleted: "done"])
        let draft = try read(
            "u-1",
            #"""
            CREATE TABLE "the ""project"""(pk INTEGER PRIMARY KEY, uuid TEXT UNIQUE, name TEXT);
            CREATE TABLE task(id INTEGER PRIMARY KEY, owner INTEGER, "na""me" TEXT, done INTEGER, FOREIGN KEY(owner) REFERENCES "the ""project""");
            INSERT INTO "the ""project""" VALUES(1, 'u-2', 'other'), (2, 'u-1', 'this');
            INSERT INTO task VALUES(1, 1, 'no', 0), (2, 2, 'yes', 1);
            """#, tables)
        #expect(draft == ProjectDraft(id: "u-1", title: "this", items: [SharedItem(id: "2", title: "yes", isCompleted: true)]))
    }

    @Test(arguments: [
        ("projects", "x", ProjectTables(), LocalStoreError.Code.notFound, "no project of that id"),
        ("nothing", "a", ProjectTables(projects: "nothing"), .schemaMismatch, "--project-table TABLE"),
        ("nothing", "a", ProjectTables(items: "nothing"), .schemaMismatch, "--item-table TABLE"),
        ("projects", "a", ProjectTables(columns: [.projectDetail: "wrong"]), .schemaMismatch, "--column project.detail=COLUMN"),
        ("items", "a", ProjectTables(items: "loose"), .schemaMismatch, "--column item.project=COLUMN"),
        ("items", "a", ProjectTables(items: "twice"), .schemaMismatch, "--column item.project=COLUMN"),
        ("column flag", "a", ProjectTables(columns: [.projectClosed: "flag"]), .badRow, "other than 0, 1 or NULL"),
        ("column image", "a", ProjectTables(columns: [.projectDetail: "image"]), .badRow, "neither text nor an integer"),
    ])
    func whatDoesNotFitIsNamed(place: String, id: String, tables: ProjectTables, code: LocalStoreError.Code, words: String) throws {
        let error = #expect(throws: LocalStoreError.self) {
            try read(
                id,
                """
                CREATE TABLE projects(id TEXT PRIMARY KEY, title TEXT, flag, image BLOB);
                CREATE TABLE items(id TEXT PRIMARY KEY, project TEXT REFERENCES projects(id), title TEXT);
                CREATE TABLE loose(id TEXT PRIMARY KEY, project TEXT, title TEXT);
                CREATE TABLE twice(id TEXT PRIMARY KEY, one TEXT REFERENCES projects, two TEXT REFERENCES projects, title TEXT);
                INSERT INTO projects VALUES('a', 'A', 'yes', x'00');
                """, tables)
        }
        #expect(error?.code == code && "\(error.map(String.init(describing:)) ?? "")".contains(words), "\(String(describing: error))")
        #expect(
            error?.place.contains(place == "nothing" ? "table nothing" : place.split(separator: " ").last ?? "") == true || tables.items != "items",
            "\(String(describing: error))")
    }

    @Test func itemsColumnMayBeNamedWhereNoForeignKeySaysIt() throws {
        let draft = try read(
            "a",
            """
            CREATE TABLE projects(id TEXT PRIMARY KEY, title TEXT);
            CREATE TABLE items(id TEXT PRIMARY KEY, parent TEXT, title TEXT);
            INSERT INTO projects VALUES('a', 'A');
            INSERT INTO items VALUES('1', 'a', 'one'), ('2', 'b', 'two');
            """, ProjectTables(columns: [.itemProject: "parent"]))
        #expect(draft.items.map(\.id) == ["1"])
    }
}
