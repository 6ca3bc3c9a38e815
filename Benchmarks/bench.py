#!/usr/bin/env python3
"""Measures snapsync, beside an earlier snapsync if there is one, on the same rows. Prints one table.

usage: bench.py SNAPSYNC [--before SNAPSYNC] [--rows 1000000] [--rounds 3] [--directory DIR]

In each round all programs of a job run one after the other, so that a slow or busy machine slows them all. Figures are medians, ratios are medians of the rounds'
ratios; runs of milliseconds are repeated 15 times. The databases are in WAL mode.
"""
import argparse, os, shutil, sqlite3, statistics, subprocess, sys, tempfile, time

CHANGED, LARGE, TABLES = 100, 5_000_000, 400
# What a change may cost beside the program before it.
MORE = 1.05


class Program:
    """A snapsync with a writer and a reader of its own, in a folder of its own."""

    def __init__(self, path, folder):
        self.path, self.folder = os.path.abspath(path), folder
        os.makedirs(folder)

    def __call__(self, *words):
        """Runs the command: elapsed milliseconds, and MiB of memory at most."""
        # What the run before has left in memory would go to the disk at this one's cost.
        os.sync()
        with tempfile.TemporaryFile() as output:
            begin = time.monotonic()
            process = subprocess.Popen([self.path + ("-examples" if words[0] == "generate" else ""), *map(str, words)], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
            _, status, usage = os.wait4(process.pid, 0)
            took, process.returncode = (time.monotonic() - begin) * 1000, os.waitstatus_to_exitcode(status)
            output.seek(0)
            if process.returncode: sys.exit(f"bench: {self.path} {' '.join(map(str, words))} ended with {process.returncode}: {output.read().decode(errors='replace')}")
        return took, usage.ru_maxrss / 1024

    def database(self, name, *statements):
        connection = sqlite3.connect(os.path.join(self.folder, name), isolation_level=None)
        for statement in ("PRAGMA journal_mode = WAL", "BEGIN", *statements, "COMMIT"): connection.execute(statement)
        connection.close()

    def remove(self, *names):
        for name in os.listdir(self.folder):
            if name.startswith(names): (shutil.rmtree if os.path.isdir(os.path.join(self.folder, name)) else os.remove)(os.path.join(self.folder, name))

    def cloud_size(self):
        return sum(os.path.getsize(os.path.join(base, name)) for base, _, names in os.walk(os.path.join(self.folder, "cloud")) for name in names)

    def init(self, name, *words):
        return self("init", name + ".db", "cloud", "--name", name, *words)

    def init_large(self, *statements):
        """Sets up a database whose tables are told to be synced."""
        self.remove("large", "cloud")
        self.database("large.db", *statements)
        return self.init("large")

    def export_all(self, rows):
        self.remove("writer", "cloud")
        self("generate", "writer.db", "--notifications", rows, "--buckets", 200, "--seed", 1)
        self.database("writer.db")
        self.init("writer", "--built-in")
        return self("export", "writer.db")

    def import_all(self):
        self.remove("reader")
        self("join", "reader.db", "cloud", "--name", "reader", "--take-over")
        self.database("reader.db")
        return self("import", "reader.db")

    def change(self, number):
        """Changes some rows: the runs of the export and the import, and how many kB the shared directory has more."""
        self("generate", "writer.db", "--mark-read", CHANGED, "--seed", number + 2)
        before = self.cloud_size()
        export = self("export", "writer.db")
        return export, self("import", "reader.db"), (self.cloud_size() - before) / 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snapsync")
    parser.add_argument("--before", help="an earlier program that has the same commands")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--directory", help="where to work; default: a temporary directory")
    options = parser.parse_args()
    # A setting of the shell must not change what is measured.
    for name in ("SNAPSYNC_DB", "SNAPSYNC_LOCATION"): os.environ.pop(name, None)
    folder = tempfile.mkdtemp(prefix="snapsync-bench-", dir=options.directory)
    programs = [Program(path, os.path.join(folder, name)) for name, path in (("now", options.snapsync), ("before", options.before)) if path]
    print(f"| {options.rows:,} rows | now | before (ratio) | goal: at most | |\n| --- | ---: | ---: | ---: | --- |")

    def measure(rounds, job):
        """Runs a job of each program in turn: for each program its results."""
        taken = [[job(program, number) for program in programs] for number in range(rounds)]
        return list(zip(*taken))

    def add(name, unit, values, limit=MORE, most=None):
        """Prints a line: a figure, its ratio to the program before (at most `limit`), and its own ceiling (`most`)."""
        figures = [statistics.median(one) for one in values]
        ratio = statistics.median(now / max(before, 1e-9) for now, before in zip(*values)) if options.before else None
        goals = [f"{limit} of before"] * bool(options.before and limit) + ([f"{most} {unit}"] if most else [])
        is_met = (not ratio or not limit or ratio <= limit) and (not most or figures[0] <= most)
        before = f"{figures[1]:.3g} ({ratio:.2f})" if options.before else ""
        print(f"| {name} | {figures[0]:.3g} {unit} | {before} | {', '.join(goals)} | {'' if not goals else 'met' if is_met else '**not met**'} |", flush=True)

    def add_large(name, taken):
        add(name, "s", [[took / 1000 for took, _ in runs] for runs in taken])
        add(name + ", memory", "MiB", [[memory for _, memory in runs] for runs in taken])

    try:
        rows = f"INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {LARGE}) SELECT i, 'title ' || i FROM n"
        table = "CREATE TABLE t{}(id INTEGER PRIMARY KEY, title TEXT)".format
        add_large(f"init, {LARGE:,} rows", measure(1, lambda program, _: program.init_large(table(""), rows)))
        add_large(f"init, {TABLES} tables", measure(options.rounds, lambda program, _: program.init_large(*map(table, range(TABLES)))))
        add_large("full export", measure(options.rounds, lambda program, _: program.export_all(options.rows)))
        add_large("full import", measure(options.rounds, lambda program, _: program.import_all()))
        changed = measure(15, Program.change)
        add(f"{CHANGED} rows changed, export", "ms", [[export[0] for export, _, _ in one] for one in changed])
        add(f"{CHANGED} rows changed, import", "ms", [[imported[0] for _, imported, _ in one] for one in changed])
        add(f"{CHANGED} rows changed, written", "kB", [[size for _, _, size in one] for one in changed])
        for side in ("writer", "reader"):
            for program in programs: program("sync", f"{side}.db")
            taken = measure(15, lambda program, _: program("sync", f"{side}.db")[0])
            add(f"`sync`, nothing new, {side}", "ms", taken, limit=None, most=15)
        add("`--version`", "ms", measure(15, lambda program, _: program("--version")[0]), limit=None)
        add("the program's file", "MB", [[os.path.getsize(program.path) / 1e6] for program in programs], limit=None, most=60)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


main()
