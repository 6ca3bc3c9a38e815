#!/usr/bin/env python3
"""Measures what many readers of one zone cost its writer: a sync of one changed row, a sync with nothing new, and `status`, beside a zone with one reader.

usage: readers_bench.py SNAPSYNC [--readers 2000] [--rounds 40] [--directory DIR]

The two zones run in turn; a ratio is the median of the rounds' ratios. Each reader has imported the zone's version once and reported it.
"""
import argparse, os, random, shutil, sqlite3, statistics, sys, tempfile

from measured_run import MeasuredRun

ROWS = 1000


class Zone:
    def __init__(self, snapsync, folder, readers):
        self.snapsync, self.folder = snapsync, folder
        os.mkdir(folder)
        with sqlite3.connect(self.path("w.db")) as database:
            database.executescript("PRAGMA journal_mode = WAL; CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)")
            database.executemany("INSERT INTO t VALUES(?, ?)", ((number, "row %d" % number) for number in range(ROWS)))
        self.run("init", "--db", "w.db", "--cloud", "cloud", "--role", "writer", "--device", "w", "--tables", "all")
        self.run("sync", "--db", "w.db")
        for number in range(readers):
            self.run("init", "--db", "r.db", "--cloud", "cloud", "--role", "reader", "--device", "r%d" % number, "--create")
            self.run("sync", "--db", "r.db")
            for ending in ("", "-wal", "-shm", ".snapsync-lock"):
                if os.path.exists(self.path("r.db" + ending)):
                    os.remove(self.path("r.db" + ending))

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *arguments):
        return MeasuredRun([self.snapsync, *arguments], self.folder).wall * 1000

    def change(self):
        database = sqlite3.connect(self.path("w.db"))
        with database:
            database.execute("UPDATE t SET v = ? WHERE id = ?", (str(random.random()), random.randrange(ROWS)))
        database.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snapsync")
    parser.add_argument("--readers", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--directory", help="where to work; default: a temporary directory")
    options = parser.parse_args()
    folder = os.path.realpath(tempfile.mkdtemp(prefix="snapsync-readers-", dir=options.directory))
    try:
        many, one = (Zone(os.path.abspath(options.snapsync), os.path.join(folder, name), count) for name, count in (("many", options.readers), ("one", 1)))
        figures = {"sync, one row changed": [], "sync, nothing new": [], "status": []}
        for _ in range(options.rounds):
            for zone in (many, one):
                zone.change()
            figures["sync, one row changed"].append([zone.run("sync", "--db", "w.db") for zone in (many, one)])
            figures["sync, nothing new"].append([zone.run("sync", "--db", "w.db") for zone in (many, one)])
            figures["status"].append([zone.run("status", "--db", "w.db") for zone in (many, one)])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"| the writer's run | {options.readers:,} readers, ms | one reader, ms | ratio |\n| --- | ---: | ---: | ---: |")
    for job, pairs in figures.items():
        print("| %s | %.1f | %.1f | **%.2f** |" % (
            job, statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs), statistics.median(a / b for a, b in pairs)))


if __name__ == "__main__":
    main()
