#!/usr/bin/env python3
"""Runs snapsync and its competitors in turn on the same data and prints one table of ratios, and one of goals.

usage: bench.py SNAPSYNC [--sizes 100,150,1000,10000,100000,1000000] [--rewritten 100000] [--rounds 3] [--json FILE] [--directory DIR] [--python PROGRAM]

In every round ours and theirs run one after the other, so that a slow or busy machine slows both; the figures are medians, the ratios (of
elapsed and of processor time) are the medians of the rounds' ratios. Runs of milliseconds are repeated more often. "peak" is the largest resident memory of any one process,
in MiB, never less than this script's own 18. "MB" is what was written to (export) or read from (import) the shared directory; for a competitor, the size of its file or what it sent.
"""
import argparse, json, os, shutil, sqlite3, statistics, sys, tempfile
from dataclasses import dataclass

import goals
from measured_run import MeasuredRun, bytes_read, shell
from rewritten import RewrittenTables

HERE = os.path.dirname(os.path.abspath(__file__))
BUCKETS = 200
CHANGED = 100


@dataclass
class Competitor:
    """Another way to do the same: a pipeline, what it needs, and where its size is seen."""
    name: str
    needs: str
    pipeline: str
    result: str = ""
    prepare: str = ""


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.rows, self.skipped = [], []
        python = options.python
        script = lambda name: os.path.join(HERE, "competitors", name)
        self.gzip = Competitor("sqlite3 .dump | gzip -6", "gzip", "sqlite3 writer.db .dump | gzip -6 > dump.sql.gz", "dump.sql.gz")
        self.exports = [
            self.gzip,
            Competitor("sqlite3 .dump | zstd -3 -T2", "zstd", "sqlite3 writer.db .dump | zstd -q -3 -T2 -f -o dump.zst", "dump.zst"),
            Competitor("Python, orjson, isal", "orjson", f"{python} {script('container_to_gzip.py')} writer.db python.json.gz", "python.json.gz"),
            Competitor("json_group_array | gzip -6", "gzip", f"sqlite3 writer.db < {script('container.sql')} | gzip -6 > container.json.gz", "container.json.gz"),
        ]
        self.restore = Competitor("zcat | sqlite3 new.db", "gzip", "zcat dump.sql.gz | sqlite3 restored.db", "dump.sql.gz", "rm -f restored.db")
        schema = "rm -f restored.db; sqlite3 writer.db '.schema --nosys notifications' | grep -v -i trigger | sqlite3 restored.db"
        self.imports = [
            self.restore,
            Competitor("Python, orjson, isal", "orjson", f"{python} {script('gzip_to_table.py')} python.json.gz restored.db", "python.json.gz", schema),
            Competitor(
                "zcat, json_each", "gzip", f"zcat container.json.gz > container.json && sqlite3 restored.db < {script('container_to_table.sql')}",
                "container.json.gz", schema),
        ]

    # What runs

    def path(self, name):
        return os.path.join(self.folder, name)

    def ours(self, *arguments, accepts=(0,)):
        return MeasuredRun([self.options.snapsync, *map(str, arguments)], self.folder, accepts)

    def theirs(self, pipeline):
        return shell(pipeline, self.folder)

    def has(self, competitor):
        checks = {"orjson": f"{self.options.python} -c 'import isal, orjson; orjson.Fragment'"}
        check = checks.get(competitor.needs, f"command -v {competitor.needs}")
        if os.system(f"{check} >{os.devnull} 2>&1") == 0:
            return True
        name = f"{competitor.name} ({competitor.needs} is not installed)"
        if name not in self.skipped:
            self.skipped.append(name)
            print(f"  skipped: {name}", file=sys.stderr)
        return False

    def remove(self, *names):
        for name in names:
            for path in (self.path(name) + ending for ending in ("", "-wal", "-shm", ".snapsync-lock", ".snapsync-kept")):
                if os.path.isdir(path):
                    shutil.rmtree(path)
                elif os.path.exists(path):
                    os.remove(path)

    def cloud_files(self, ending=""):
        found = {}
        for base, _, names in os.walk(self.path("cloud")):
            found |= {os.path.join(base, name): os.path.getsize(os.path.join(base, name)) for name in names if name.endswith(ending)}
        return found

    def written_since(self, before):
        return sum(size for name, size in self.cloud_files().items() if name not in before)

    def many(self, count):
        """How often a run of milliseconds is repeated."""
        return max(self.options.rounds, 15) if count <= 1000 else self.options.rounds

    # What is noted

    def add(self, count, job, pairs, competitor="", bytes_ours=0, bytes_theirs=0):
        """Adds a row of the table; each pair is our run and theirs or None."""
        ours, theirs = [a for a, _ in pairs], [b for _, b in pairs if b]
        median = lambda runs, key: statistics.median(getattr(run, key) for run in runs)
        row = {
            "rows": count, "job": job, "ours_s": median(ours, "wall"), "ours_cpu_s": median(ours, "cpu"),
            "ours_peak": max(run.peak for run in ours), "ours_bytes": bytes_ours, "competitor": competitor,
        }
        if theirs:
            row |= {
                "theirs_s": median(theirs, "wall"), "theirs_peak": max(run.peak for run in theirs), "theirs_bytes": bytes_theirs,
                "ratio": statistics.median(a.wall / b.wall for a, b in pairs),
                "theirs_cpu_s": median(theirs, "cpu"), "cpu_ratio": statistics.median(a.cpu / max(b.cpu, 1e-4) for a, b in pairs),
            }
        self.rows.append(row)
        print(f"  {job}: {row['ours_s']:.3f} s" + (f", {competitor}: {row['theirs_s']:.3f} s, ratio {row['ratio']:.2f}, of processor time {row['cpu_ratio']:.2f}" if theirs else ""), file=sys.stderr)

    # The jobs

    def measure(self, count):
        print(f"{count:,} notifications", file=sys.stderr)
        for name in os.listdir(self.folder):
            self.remove(name)
        self.ours("generate", "--db", "writer.db", "--notifications", count, "--buckets", BUCKETS, "--seed", 1)
        self.theirs("sqlite3 writer.db 'PRAGMA journal_mode=WAL'")
        self.whole_export(count)
        self.whole_import(count)
        self.few_changed(count)
        if count > 1000:
            self.catching_up(count)
        self.nothing_new(count)
        if count >= 100_000 and not any(row["job"].startswith("bulk insert") for row in self.rows):
            self.tracked_insert(100_000)
            self.more_and_more_changed(count)

    def fresh_cloud(self):
        if os.path.exists(self.path("cloud")):
            self.ours("detach", "--db", "writer.db")
            self.remove("cloud", "writer.db.snapsync-kept")
        self.ours("init", "--db", "writer.db", "--cloud", "cloud", "--role", "writer", "--device", "writer")

    def whole_export(self, count):
        for competitor in filter(self.has, self.exports):
            pairs = []
            for _ in range(self.many(count)):
                self.fresh_cloud()
                before = self.cloud_files()
                ours = self.ours("export", "--db", "writer.db")
                written = self.written_since(before)
                pairs.append((ours, self.theirs(competitor.pipeline)))
            self.add(count, "export, whole", pairs, competitor.name, written, self.size(competitor))

    def size(self, competitor):
        return os.path.getsize(self.path(competitor.result))

    def fresh_reader(self, number, count):
        """A reader that has nothing of the cloud, with as many rows of its own as asked for."""
        self.remove("reader.db")
        if count:
            self.ours("generate", "--db", "reader.db", "--notifications", count, "--buckets", BUCKETS, "--seed", 99)
            self.theirs("sqlite3 reader.db 'PRAGMA journal_mode=WAL'")
        self.ours("init", "--db", "reader.db", "--cloud", "cloud", "--role", "reader", "--device", f"reader-{number}", "--create", "--replace")
        self.theirs("sqlite3 reader.db 'PRAGMA journal_mode=WAL'")

    def whole_import(self, count):
        read = sum(self.cloud_files(".json.gz").values())
        number = 0
        for job, rows, competitors in [
            ("import, into an empty database", 0, self.imports), ("import, over as many other rows", count, self.imports[:1]),
        ]:
            for competitor in filter(self.has, competitors):
                pairs = []
                for _ in range(self.many(count)):
                    number += 1
                    self.fresh_reader(number, rows)
                    ours = self.ours("import", "--db", "reader.db")
                    self.theirs(competitor.prepare)
                    pairs.append((ours, self.theirs(competitor.pipeline)))
                self.add(count, job, pairs, competitor.name, read, self.size(competitor))

    def change(self, count, changed=CHANGED):
        self.changes = getattr(self, "changes", 1) + 1
        self.ours("generate", "--db", "writer.db", "--mark-read", min(changed, count), "--seed", self.changes)

    def few_changed(self, count):
        exports, imports = [], []
        for _ in range(self.many(count)):
            self.change(count)
            before = self.cloud_files()
            exports.append((self.ours("export", "--db", "writer.db"), self.theirs(self.gzip.pipeline)))
            written = self.written_since(before)
            self.theirs(self.restore.prepare)
            imports.append((self.ours("import", "--db", "reader.db"), self.theirs(self.restore.pipeline)))
        self.change(count)
        self.ours("export", "--db", "writer.db")
        read = bytes_read([self.options.snapsync, "import", "--db", "reader.db"], self.folder, self.path("cloud"))
        self.add(count, f"export, {CHANGED} rows changed", exports, self.gzip.name, written, self.size(self.gzip))
        self.add(count, f"import, {CHANGED} rows changed", imports, self.restore.name, written if read is None else read, self.size(self.restore))
        if count > 1000:
            self.copied_changes(count)

    CHECKPOINT = "sqlite3 writer.db 'PRAGMA wal_checkpoint(TRUNCATE)' > checkpoint.txt"

    def copiers(self):
        """The tools that carry a file and are installed: each competitor, and how to read from its output what it sent. Each has a first copy of the database, its log emptied."""
        os.environ["RESTIC_PASSWORD"] = "benchmark"
        os.environ["RESTIC_CACHE_DIR"] = self.path("restic-cache")
        rsync = "rsync --inplace --no-whole-file --stats writer.db mirror.db"
        restic = "restic -q -r restic backup --json writer.db"
        for name, needs, first, pipeline, sent in [
            ("rsync of the database", "rsync", "cp writer.db mirror.db", rsync, self.sent_by_rsync),
            ("restic of the database", "restic", f"restic -q -r restic init && {restic}", "restic -r restic backup --json writer.db", self.sent_by_restic),
        ]:
            competitor = Competitor(name, needs, pipeline)
            if self.has(competitor):
                self.theirs(f"{self.CHECKPOINT} && {first} > first.txt")
                yield competitor, sent

    def copied_changes(self, count):
        """The tools that carry a file: what they find changed in the database's own file, its log emptied beforehand."""
        for competitor, sent in self.copiers():
            pairs = []
            for _ in range(self.options.rounds):
                self.change(count)
                before = self.cloud_files()
                ours = self.ours("export", "--db", "writer.db")
                written = self.written_since(before)
                self.theirs(self.CHECKPOINT)
                pairs.append((ours, self.theirs(competitor.pipeline)))
            self.add(count, f"{CHANGED} rows changed, to the shared directory", pairs, competitor.name, written, sent(pairs[-1][1].output))
        self.remove("restic", "restic-cache", "mirror.db")
        self.ours("import", "--db", "reader.db")

    def more_and_more_changed(self, count):
        """What one change after another sends, each of ten times as many rows, once: ours, the tools that carry a file, and a dump."""
        tools = list(self.copiers()) + [(each, lambda _, each=each: self.size(each)) for each in self.exports[:2] if self.has(each)]
        for changed in (1, 10, 100, 1000, 10_000, 100_000):
            self.change(count, changed)
            before = self.cloud_files()
            ours = self.ours("export", "--db", "writer.db")
            written = self.written_since(before)
            self.theirs(self.CHECKPOINT)
            for competitor, sent in tools:
                theirs = self.theirs(competitor.pipeline)
                self.add(count, f"{changed:,} rows changed, bytes", [(ours, theirs)], competitor.name, written, sent(theirs.output))
                self.rows[-1]["changed"] = changed
        self.remove("restic", "restic-cache", "mirror.db")

    @staticmethod
    def sent_by_rsync(output):
        return int(next(line for line in output.splitlines() if line.startswith("Total bytes sent")).split(": ")[1].replace(",", ""))

    @staticmethod
    def sent_by_restic(output):
        return next(one["data_added"] for one in map(json.loads, output.splitlines()) if one["message_type"] == "summary")

    def catching_up(self, count):
        """A reader that finds its rows altered behind the tracking, so that no chain of changes helps: it compares block by block."""
        self.ours("export", "--full", "--db", "writer.db")
        self.ours("import", "--db", "reader.db")
        pairs = []
        for number in range(self.options.rounds + 1):
            with sqlite3.connect(self.path("reader.db")) as reader:
                reader.execute("INSERT INTO snapsync_importing VALUES(1)")
                # Chosen by SQLite: what this process holds would count as the memory of those that it starts.
                reader.execute(
                    "UPDATE notifications SET title = title || '!' WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id) AS place"
                    " FROM notifications) WHERE place % ? = 0 LIMIT ?)", (count // CHANGED, CHANGED))
                reader.execute("DELETE FROM snapsync_importing")
            reader.close()
            self.ours("verify", "--local", "--db", "reader.db", accepts=(65,))
            if number == self.options.rounds:
                read = bytes_read([self.options.snapsync, "import", "--db", "reader.db"], self.folder, self.path("cloud"))
            else:
                blocks = self.ours("import", "--db", "reader.db")
                self.remove("whole.db")
                self.ours("init", "--db", "whole.db", "--cloud", "cloud", "--role", "reader", "--device", f"whole-{number}", "--create")
                self.theirs("sqlite3 whole.db 'PRAGMA journal_mode=WAL'")
                pairs.append((blocks, self.ours("import", "--db", "whole.db")))
        self.remove("whole.db")
        asset = max(self.cloud_files(".json.gz").values())
        self.add(count, f"catching up by blocks, {CHANGED} rows differ", pairs, "import, whole", read or 0, asset)

    def nothing_new(self, count):
        self.ours("sync", "--db", "writer.db")
        self.ours("sync", "--db", "reader.db")
        runs = max(self.options.rounds, 15)
        for job, arguments in [
            ("sync, nothing new, writer", ("sync", "--db", "writer.db")), ("sync, nothing new, reader", ("sync", "--db", "reader.db")),
        ]:
            before = self.cloud_files()
            measured = [(self.ours(*arguments), None) for _ in range(runs)]
            self.add(count, job, measured, bytes_ours=self.written_since(before))

    def tracked_insert(self, count):
        """What tracking adds to an app's own bulk insert: into a tracked table, and into the same one untracked."""
        self.remove("rows.db")
        self.ours("generate", "--db", "rows.db", "--notifications", count, "--buckets", BUCKETS, "--seed", 5)
        sql = "ATTACH 'rows.db' AS rows; BEGIN IMMEDIATE; INSERT INTO notifications SELECT * FROM rows.notifications; COMMIT;"
        ordered = sql.replace("rows.notifications;", "rows.notifications ORDER BY id;")
        row_by_row = f"{self.options.python if self.has(Competitor('Python', 'orjson', '')) else sys.executable} {HERE}/competitors/insert_rows.py rows.db"
        for job, insert in [
            (f"bulk insert of {count:,}, row by row", lambda name: f"{row_by_row} {name}"),
            (f"bulk insert of {count:,}, INSERT … SELECT", lambda name: f"sqlite3 {name} \"{sql}\""),
            # Sorted: then SQLite processes single rows without a trigger, too.
            (f"bulk insert of {count:,}, INSERT … SELECT … ORDER BY", lambda name: f"sqlite3 {name} \"{ordered}\""),
            # What any trigger costs, whatever it does.
            (f"bulk insert of {count:,}, INSERT … SELECT, an empty trigger", lambda name: f"sqlite3 {name} \"{sql}\""),
        ]:
            pairs = []
            for number in range(self.many(0) // 3):
                runs = []
                for name in ("tracked.db", "untracked.db"):
                    self.remove(name)
                    self.ours("init", "--db", name, "--cloud", "cloud", "--role", "reader", "--device", f"insert-{number}-{len(self.rows)}", "--create", "--adopt", "--take-over")
                    if name == "untracked.db" or "empty trigger" in job:
                        self.ours("detach", "--db", name)
                        self.check_untracked(name)
                    if name == "tracked.db" and "empty trigger" in job:
                        self.theirs(f"sqlite3 {name} 'CREATE TRIGGER empty AFTER INSERT ON notifications BEGIN SELECT 1; END'")
                    self.theirs(f"sqlite3 {name} 'PRAGMA journal_mode=WAL'")
                    run = self.theirs(insert(name))
                    if run.output.strip():
                        run.wall = float(run.output.strip().splitlines()[-1])
                    runs.append(run)
                pairs.append(tuple(runs))
            self.add(count, job, pairs, "the same, not tracked")
        self.remove("rows.db", "tracked.db", "untracked.db")

    def check_untracked(self, name):
        connection = sqlite3.connect(self.path(name))
        triggers = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'")]
        connection.close()
        if triggers:
            sys.exit(f"bench: the untracked database still has the triggers {triggers}")

    def table(self):
        lines = [
            "| rows | job | ours, s | peak MiB | MB | competitor | theirs, s | peak MiB | MB | ratio | of processor time |",
            "| ---: | --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |",
        ]
        for row in self.rows:
            ours = f"| {row['rows']:,} | {row['job']} | {row['ours_s']:.3f} | {row['ours_peak']:.0f} | {row['ours_bytes'] / 1e6:.2f} |"
            theirs = " | | | | | |"
            if "ratio" in row:
                bar = row["competitor"].replace("|", "\\|")
                theirs = f" {bar} | {row['theirs_s']:.3f} | {row['theirs_peak']:.0f} | {row['theirs_bytes'] / 1e6:.2f} | **{row['ratio']:.2f}** | {row['cpu_ratio']:.2f} |"
            lines.append(ours + theirs)
        return "\n".join(lines + [f"\nskipped: {name}" for name in self.skipped])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snapsync")
    parser.add_argument("--sizes", default="100,150,1000,10000,100000,1000000")
    parser.add_argument("--rewritten", default="100000", help="the sizes of the tables that are written whole, and of those with other keys and columns")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--directory", help="where to work; default: a temporary directory, removed at the end")
    parser.add_argument("--python", default=sys.executable, help="the Python that has orjson and isal")
    parser.add_argument("--json", help="also write the figures to that file")
    options = parser.parse_args()
    for name in ("snapsync", "json"):
        if getattr(options, name):
            setattr(options, name, os.path.abspath(getattr(options, name)))
    folder = os.path.realpath(options.directory or tempfile.mkdtemp(prefix="snapsync-bench-"))
    os.makedirs(folder, exist_ok=True)
    # A setting of the shell must not change what is measured.
    for name in ("SNAPSYNC_DB", "SNAPSYNC_CLOUD"):
        os.environ.pop(name, None)
    bench = Bench(options, folder)
    try:
        for size in options.sizes.split(","):
            if size:
                bench.measure(int(size))
            if options.json:
                with open(options.json, "w") as file:
                    json.dump(bench.rows, file, indent=1)
        for size in filter(None, options.rewritten.split(",")):
            print(f"{int(size):,} rows written whole", file=sys.stderr)
            RewrittenTables(bench).measure(int(size))
            if options.json:
                with open(options.json, "w") as file:
                    json.dump(bench.rows, file, indent=1)
    finally:
        if not options.directory:
            shutil.rmtree(folder, ignore_errors=True)
    print(bench.table())
    print()
    print(goals.table(bench.rows))


if __name__ == "__main__":
    main()
