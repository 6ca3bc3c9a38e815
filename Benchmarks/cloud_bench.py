#!/usr/bin/env python3
"""Measures a cloud directory beside SQLite doing the same in WAL mode with synchronous=FULL, and prints one table of ratios, and one of goals.

usage: cloud_bench.py CLOUDBENCH [--records 10000] [--commits 10000] [--rounds 3] [--directory DIR]

SQLite is a single file with locks on one machine; the cloud directory is files that any machine may mount, with an fsync and a
read-back of each. Ours and theirs run one after the other in every round; the figures are medians, the ratio is that of the rounds.
Processes start before the clock does. "files opened" is strace's count, where strace is installed.
"""
import argparse, json, os, re, shutil, sqlite3, statistics, subprocess, sys, tempfile, time

import goals

SCHEMA = "CREATE TABLE records(name TEXT PRIMARY KEY, type TEXT NOT NULL, title TEXT, calories INTEGER, isOpen INTEGER, tag INTEGER) WITHOUT ROWID"


def connect(path):
    db = sqlite3.connect(path, timeout=60, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    return db


def row(name, number):
    return (name, "Food", f"Food {number}", number * 7919 % 1000, number % 2 == 0, number)


def commit_rows(path, device, count):
    """The other side of `cloudbench commit`: as many transactions of one small row each, after a line on standard input."""
    db = connect(path)
    print("ready", flush=True)
    sys.stdin.readline()
    begin = time.monotonic()
    for number in range(count):
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO records VALUES(?, ?, ?, ?, ?, ?)", row(f"{device}-{number}", number))
        db.execute("COMMIT")
    print(json.dumps({"seconds": time.monotonic() - begin}))


def fail(command, message):
    sys.exit(f"cloud_bench: {' '.join(command)}: {message}")


class Bench:
    def __init__(self, driver, folder, options):
        self.driver, self.folder, self.options = driver, folder, options
        self.rows = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def ours(self, command, cloud, *arguments):
        line = [self.driver, command, self.path(cloud), *map(str, arguments)]
        run = subprocess.run(line, capture_output=True, text=True)
        if run.returncode:
            fail(line, run.stderr)
        return json.loads(run.stdout)

    def fresh(self, *names):
        for name in names:
            shutil.rmtree(self.path(name), ignore_errors=True)
            for ending in ("", "-wal", "-shm"):
                if os.path.isfile(self.path(name) + ending):
                    os.remove(self.path(name) + ending)

    def together(self, commands):
        """Starts processes, lets them go at once, and returns the seconds until the last is done."""
        running = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for command in commands]
        for process, command in zip(running, commands):
            if process.stdout.readline() != "ready\n":
                fail(command, process.stderr.read())
        begin = time.monotonic()
        for process in running:
            process.stdin.write("go\n")
            process.stdin.flush()
        for process, command in zip(running, commands):
            process.stdout.read()
            if process.wait():
                fail(command, process.stderr.read())
        return time.monotonic() - begin

    def add(self, job, unit, pairs, note=""):
        """Adds a row; each pair is ours and theirs, in seconds for one of what is counted."""
        ours, theirs = statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)
        ratio = statistics.median(a / b for a, b in pairs)
        self.rows.append({"job": job, "unit": unit, "ours": ours, "theirs": theirs, "ratio": ratio, "note": note})
        print(f"  {job}: {self.figure(ours, unit)}, SQLite: {self.figure(theirs, unit)}, ratio {ratio:.2f} {note}", file=sys.stderr)

    @staticmethod
    def figure(seconds, unit):
        return f"{1 / seconds:,.0f} /s" if unit == "rate" else f"{seconds * 1000:,.3f} ms"

    def commits(self, processes, each):
        pairs = []
        for _ in range(self.options.rounds):
            self.fresh("commit.cloud", "commit.db")
            self.ours("fill", "commit.cloud", "--records", 1)
            connect(self.path("commit.db")).execute(SCHEMA)
            ours = self.together([[self.driver, "commit", self.path("commit.cloud"), "--device", f"d{n}", "--count", str(each)] for n in range(processes)])
            theirs = self.together([[sys.executable, __file__, "--commit-rows", self.path("commit.db"), f"d{n}", str(each)] for n in range(processes)])
            pairs.append((ours / (processes * each), theirs / (processes * each)))
        self.add(f"commits of one small record, {processes} process{'es' if processes > 1 else ''}", "rate", pairs)

    def reading(self):
        count, times, queries = self.options.records, 2000, 50
        self.fresh("read.cloud", "read.db")
        self.ours("fill", "read.cloud", "--records", count)
        db = connect(self.path("read.db"))
        db.execute(SCHEMA)
        db.execute("BEGIN")
        db.executemany("INSERT INTO records VALUES(?, ?, ?, ?, ?, ?)", (row(f"food-{n}", n) for n in range(count)))
        db.execute("COMMIT")

        def timed(body, times):
            begin = time.monotonic()
            for number in range(times):
                body(number)
            return (time.monotonic() - begin) / times

        fetch = lambda n: db.execute("SELECT * FROM records WHERE name = ?", (f"food-{n * 7919 % count}",)).fetchone()
        query = lambda n: db.execute("SELECT * FROM records WHERE type = 'Food' AND calories <= 500 ORDER BY calories DESC, name LIMIT 50").fetchall()
        pairs, found = [], []
        for _ in range(self.options.rounds):
            pairs.append((self.ours("fetch", "read.cloud", "--records", count, "--times", times)["seconds"] / times, timed(fetch, times)))
            found.append((self.ours("query", "read.cloud", "--times", queries)["seconds"] / queries, timed(query, queries)))
        self.add(f"fetch by id, {count:,} records", "time", pairs)
        self.add(f"query, the first 50 of {count:,} records, sorted", "time", found)
        first = lambda: connect(self.path("read.db")).execute("SELECT * FROM records").fetchall()
        self.add(f"first visit, {count:,} records", "time", [(self.ours("visit", "read.cloud")["seconds"], timed(lambda n: first(), 1)) for _ in range(self.options.rounds)], self.opened("read.cloud"))

    def history(self):
        records, commits = 100, self.options.commits
        self.fresh("long.cloud", "long.db")
        self.ours("fill", "long.cloud", "--records", records, "--commits", commits)
        db = connect(self.path("long.db"))
        db.execute(SCHEMA)
        for number in range(commits):
            db.execute("INSERT OR REPLACE INTO records VALUES(?, ?, ?, ?, ?, ?)", row(f"food-{number % records}", number))
        db.close()

        def visit():
            begin = time.monotonic()
            rows = connect(self.path("long.db")).execute("SELECT * FROM records").fetchall()
            assert len(rows) == records
            return time.monotonic() - begin

        pairs = [(self.ours("visit", "long.cloud")["seconds"], visit()) for _ in range(self.options.rounds)]
        self.add(f"first visit, {commits:,} commits behind a checkpoint", "time", pairs, self.opened("long.cloud"))

    def opened(self, cloud):
        """How many files a first visit opens in the cloud, as strace counts them."""
        if not shutil.which("strace"):
            return "(files opened: strace is not installed)"
        log = self.path("strace.log")
        line = ["strace", "-f", "-qq", "-e", "trace=open,openat,openat2", "-o", log, self.driver, "visit", self.path(cloud)]
        run = subprocess.run(line, capture_output=True, text=True)
        if run.returncode:
            fail(line, run.stderr)
        with open(log) as lines:
            count = sum(1 for line in lines if re.search(r'/[0-9]{20}\.json"', line) and "= -1" not in line)
        return f"{count} files opened"

    def table(self):
        lines = ["| job | cloud directory | SQLite, WAL, FULL | ratio | |", "| --- | ---: | ---: | ---: | --- |"]
        for one in self.rows:
            lines.append(f"| {one['job']} | {self.figure(one['ours'], one['unit'])} | {self.figure(one['theirs'], one['unit'])} | **{one['ratio']:.2f}** | {one['note']} |")
        return "\n".join(lines)


def main():
    if sys.argv[1:2] == ["--commit-rows"]:
        return commit_rows(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cloudbench")
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--commits", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--directory", help="where to work; default: a temporary directory, removed at the end")
    options = parser.parse_args()
    folder = options.directory or tempfile.mkdtemp(prefix="snapsync-cloud-bench-")
    os.makedirs(folder, exist_ok=True)
    bench = Bench(os.path.abspath(options.cloudbench), folder, options)
    try:
        print("cloud directory and SQLite", file=sys.stderr)
        bench.commits(1, 200)
        bench.commits(4, 50)
        bench.reading()
        bench.history()
    finally:
        if not options.directory:
            shutil.rmtree(folder, ignore_errors=True)
    print(bench.table())
    print()
    print(goals.cloud_table(bench.rows))


if __name__ == "__main__":
    main()
