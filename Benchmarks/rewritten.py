"""Tables of which every row is written, what tracking costs the application, and keys and columns of other kinds."""
import json, os

from measured_run import bytes_read

COLUMNS = "id, title, subtitle, body, readAt, sentAt, createdAt, updatedAt, bucketId, attachments, actions, tapAction"
NOW = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
NEW = COLUMNS.replace("title,", "title || '!',", 1).replace("updatedAt", NOW)

# What an application does between two exports, by the name of the job.
SHAPES = {
    "DELETE and INSERT of all rows": f"""
        CREATE TEMP TABLE kept AS SELECT {COLUMNS} FROM notifications;
        BEGIN IMMEDIATE; DELETE FROM notifications; INSERT INTO notifications({COLUMNS}) SELECT {NEW} FROM kept; COMMIT""",
    "UPDATE of every row": f"UPDATE notifications SET title = title || '!', updatedAt = {NOW}",
    "UPDATE of every row, no timestamp": "UPDATE notifications SET title = title || '!'",
}

# One table for each kind of key, of the same rows.
ITEMS = """
    CREATE TABLE items(owner TEXT NOT NULL, number INTEGER NOT NULL, title TEXT NOT NULL, body TEXT, size INTEGER, weight REAL, changed TEXT NOT NULL,
        PRIMARY KEY({key}));
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
        INSERT INTO items SELECT printf('%08x-%08x-%d', i * 2654435761 % 4294967296, i * 40503 % 65536, i), i, 'title ' || i,
            'The body of item ' || i || ', which is some words long: ' || hex(zeroblob(20)) || i * 7919, i * 7, i / 3.0,
            strftime('%Y-%m-%dT%H:%M:%fZ', 1700000000 + i, 'unixepoch') FROM n"""
KINDS = [("a composite key", "owner, number", {}), ("columns of type any", "owner", {"title": "any", "body": "any", "size": "any", "weight": "any"})]


class RewrittenTables:
    """The jobs, on the programs, the folder and the rows of a ``Bench``."""

    def __init__(self, bench):
        self.bench = bench

    def sql(self, name, text):
        return self.bench.theirs(f"sqlite3 {name} <<'END'\n{text};\nEND")

    def measure(self, count):
        self.exports(count)
        self.first_export(count)
        self.kinds(count)
        self.describe(count)
        self.bench.remove("rewritten.db", "rewritten-cloud", "items.db", "items-cloud", "reader.db", "described")

    def writer(self, name, *arguments):
        """A writer in a cloud of its own, in WAL mode."""
        cloud = name.removesuffix(".db") + "-cloud"
        self.bench.remove(cloud)
        self.sql(name, "PRAGMA journal_mode = WAL")
        self.bench.ours("init", "--db", name, "--cloud", cloud, "--role", "writer", "--device", "writer", *arguments)

    def exports(self, count):
        bench = self.bench
        for shape, statement in SHAPES.items():
            bench.remove("rewritten.db")
            bench.ours("generate", "--db", "rewritten.db", "--notifications", count, "--buckets", 200, "--seed", 1)
            self.writer("rewritten.db")
            bench.ours("export", "--db", "rewritten.db")
            pairs = []
            for _ in range(bench.options.rounds):
                self.sql("rewritten.db", statement + "; PRAGMA wal_checkpoint(TRUNCATE)")
                pairs.append((bench.ours("export", "--db", "rewritten.db"), bench.ours("export", "--full", "--db", "rewritten.db")))
            bench.add(count, f"export after {shape}", pairs, "export, whole, nothing tracked")

    def first_export(self, count):
        """The rows come into a tracked table before the first version, or were there before tracking began."""
        bench, pairs = self.bench, []
        for _ in range(bench.options.rounds):
            runs = []
            for is_tracked in (True, False):
                bench.remove("rewritten.db", "rows.db")
                bench.ours("generate", "--db", "rows.db" if is_tracked else "rewritten.db", "--notifications", count, "--buckets", 200, "--seed", 1)
                self.writer("rewritten.db", "--create")
                if is_tracked:
                    self.sql("rewritten.db", "ATTACH 'rows.db' AS rows; INSERT INTO buckets SELECT * FROM rows.buckets; "
                             "INSERT INTO notifications SELECT * FROM rows.notifications; PRAGMA wal_checkpoint(TRUNCATE)")
                runs.append(bench.ours("export", "--db", "rewritten.db"))
            pairs.append(tuple(runs))
        bench.remove("rows.db")
        bench.add(count, "first export, all rows inserted while tracked", pairs, "first export, rows from before")

    def kinds(self, count):
        bench = self.bench
        for kind, key, types in KINDS:
            exports, imports = [], []
            for _ in range(bench.options.rounds):
                runs = []
                for columns, kinds in ((key, types), ("owner", {})):
                    bench.remove("items.db", "reader.db")
                    self.sql("items.db", ITEMS.format(key=columns, count=count))
                    self.writer("items.db", *self.description(kinds))
                    export = bench.ours("export", "--db", "items.db")
                    bench.ours("init", "--db", "reader.db", "--cloud", "items-cloud", "--role", "reader", "--device", "reader", "--create")
                    self.sql("reader.db", "PRAGMA journal_mode = WAL")
                    runs.append((export, bench.ours("import", "--db", "reader.db")))
                exports.append((runs[0][0], runs[1][0]))
                imports.append((runs[0][1], runs[1][1]))
            bench.add(count, f"export, {kind}", exports, "one text key")
            bench.add(count, f"import, {kind}", imports, "one text key")

    def description(self, types):
        """The options of `init` for the table; with a dataset file where columns are to have other types than the table says."""
        if not types:
            return "--tables", "items"
        dataset = json.loads(self.bench.ours("describe", "--db", "items.db", "--tables", "items").output)
        for column in dataset["datasets"][0]["columns"]:
            column["type"] = types.get(column["name"], column["type"])
        with open(self.bench.path("items.json"), "w") as file:
            json.dump(dataset, file)
        return "--datasets", "items.json"

    def describe(self, count):
        """Read by `describe`, beside the pages of the table: more than one scan reads more than the file has."""
        bench = self.bench
        os.makedirs(bench.path("described"), exist_ok=True)
        self.sql("described/items.db", ITEMS.format(key="owner", count=count))
        command = [bench.options.snapsync, "describe", "--db", "described/items.db", "--tables", "items"]
        pairs = [(bench.ours(*command[1:]), bench.theirs("sqlite3 described/items.db 'SELECT sum(length(body)) FROM items'")) for _ in range(bench.options.rounds)]
        read = bytes_read(command, bench.folder, bench.path("described"))
        pages = "SELECT sum(pgsize) FROM dbstat WHERE name = 'items'"
        size = bench.theirs(f"sqlite3 described/items.db \"{pages}\" 2> dbstat.txt || stat -c %s described/items.db").output
        bench.add(count, "describe", pairs, "one scan by sqlite3", read or 0, int(size.strip().splitlines()[-1]))
