#!/usr/bin/env python3
"""Measures runs of milliseconds: what the command costs to start, a sync with nothing new, a few changed rows, a small table, and a watch.

usage: small_bench.py SNAPSYNC [--rows 200000] [--rounds 15] [--changes 30] [--directory DIR]

Beside each run stands a process that opens SQLite and ends, `sqlite3 :memory: 'select 1'`, or `.dump | gzip -6` of the same 150 rows. Ours and
theirs run in turn; a ratio is the median of the rounds' ratios, of elapsed seconds and of processor time (user and system). On a busy
machine the second one is the one to compare. The databases are in WAL mode.
"""
import argparse, os, shutil, statistics, sys, tempfile

import goals, watch_latency
from measured_run import MeasuredRun, shell

START = "sqlite3 :memory: 'select 1'"
CHANGED = 100
SMALL = 150


class SmallBench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.rows = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def ours(self, *arguments):
        return MeasuredRun([self.options.snapsync, *map(str, arguments)], self.folder)

    def theirs(self, pipeline):
        return shell(pipeline, self.folder) if "|" in pipeline else MeasuredRun(["sqlite3", ":memory:", "select 1"], self.folder)

    def measure(self, job, competitor, run, before=lambda: None):
        """Adds a row: `run` and the competitor in turn, each time after `before`."""
        pairs = []
        for _ in range(self.options.rounds):
            before()
            pairs.append((run(), self.theirs(competitor)))
        self.add(job, competitor, pairs)

    def add(self, job, competitor, pairs):
        row = {"job": job, "competitor": competitor}
        for key in ("wall", "cpu"):
            row["ours_" + key] = statistics.median(getattr(a, key) for a, _ in pairs)
            row["theirs_" + key] = statistics.median(getattr(b, key) for _, b in pairs)
            # A run that the system counted as nothing has no ratio.
            row["ratio_" + key] = statistics.median(getattr(a, key) / max(getattr(b, key), 1e-4) for a, b in pairs)
        self.rows.append(row)
        print(f"  {job}: {row['ratio_wall']:.2f}, processor {row['ratio_cpu']:.2f}", file=sys.stderr)

    def scene(self, count):
        """A writer and a reader that have the same rows."""
        for name in os.listdir(self.folder):
            (shutil.rmtree if os.path.isdir(self.path(name)) else os.remove)(self.path(name))
        self.ours("generate", "--db", "writer.db", "--notifications", count, "--buckets", 200 if count > SMALL else 4, "--seed", 1)
        self.theirs("sqlite3 writer.db 'PRAGMA journal_mode=WAL' | cat")
        self.ours("init", "--db", "writer.db", "--cloud", "cloud", "--role", "writer", "--device", "writer")
        self.ours("export", "--db", "writer.db")
        self.fresh_reader()
        self.ours("import", "--db", "reader.db")

    def fresh_reader(self):
        for ending in ("", "-wal", "-shm", ".snapsync-lock"):
            if os.path.exists(self.path("reader.db" + ending)):
                os.remove(self.path("reader.db" + ending))
        self.ours("init", "--db", "reader.db", "--cloud", "cloud", "--role", "reader", "--device", "reader", "--create", "--take-over")
        self.theirs("sqlite3 reader.db 'PRAGMA journal_mode=WAL' | cat")

    def fresh_cloud(self):
        self.ours("detach", "--db", "writer.db")
        shutil.rmtree(self.path("cloud"))
        self.ours("init", "--db", "writer.db", "--cloud", "cloud", "--role", "writer", "--device", "writer")

    def start(self):
        self.measure("--version", START, lambda: self.ours("--version"))

    def few_changed(self):
        count = self.options.rows
        self.scene(count)
        exports, imports = [], []
        for number in range(self.options.rounds):
            self.ours("generate", "--db", "writer.db", "--mark-read", CHANGED, "--seed", number + 2)
            exports.append((self.ours("export", "--db", "writer.db"), self.theirs(START)))
            imports.append((self.ours("import", "--db", "reader.db"), self.theirs(START)))
        self.add(f"{CHANGED} of {count:,} rows, export", START, exports)
        self.add(f"{CHANGED} of {count:,} rows, import", START, imports)
        for side in ("writer", "reader"):
            self.ours("sync", "--db", f"{side}.db")
            self.measure(f"sync, nothing new, {side}", START, lambda: self.ours("sync", "--db", f"{side}.db"))

    def small_table(self):
        dump = "sqlite3 writer.db .dump | gzip -6 > dump.sql.gz"
        self.scene(SMALL)
        self.measure(f"{SMALL} rows, import", dump, lambda: self.ours("import", "--db", "reader.db"), self.fresh_reader)
        self.measure(f"{SMALL} rows, export", dump, lambda: self.ours("export", "--db", "writer.db"), self.fresh_cloud)

    def table(self):
        lines = [
            "| job | ours, ms | processor | competitor | theirs, ms | processor | ratio | of processor time |",
            "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: |",
        ]
        for row in self.rows:
            ours, theirs = (f"{row[side + '_wall'] * 1000:.1f} | {row[side + '_cpu'] * 1000:.1f}" for side in ("ours", "theirs"))
            competitor = row["competitor"].split(" > ")[0].replace("|", "\\|")
            lines.append(f"| {row['job']} | {ours} | {competitor} | {theirs} | **{row['ratio_wall']:.2f}** | **{row['ratio_cpu']:.2f}** |")
        return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snapsync")
    parser.add_argument("--rows", type=int, default=200_000, help="rows of the table of which a hundred change")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--changes", type=int, default=30, help="changes that the watches carry; 0 leaves them out")
    parser.add_argument("--directory", help="where to work; default: a temporary directory")
    options = parser.parse_args()
    options.snapsync = os.path.abspath(options.snapsync)
    for name in ("SNAPSYNC_DB", "SNAPSYNC_CLOUD"):
        os.environ.pop(name, None)
    folder = os.path.realpath(tempfile.mkdtemp(prefix="snapsync-small-", dir=options.directory))
    bench = SmallBench(options, folder)
    try:
        bench.start()
        bench.few_changed()
        bench.small_table()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    watched = watch_latency.measure(options.snapsync, changes=options.changes, directory=options.directory) if options.changes else None
    print(bench.table())
    print()
    if watched:
        print(watched.text())
        print()
    print(goals.small_table(bench.rows, watched))


if __name__ == "__main__":
    main()
