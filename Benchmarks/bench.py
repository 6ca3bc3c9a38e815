#!/usr/bin/env python3
"""Measures snapsync beside the shell's tools, and beside an earlier snapsync, on the same rows. Prints one table of at most 20 rows.

usage: bench.py SNAPSYNC [--before SNAPSYNC] [--rows 1000000] [--rounds 3] [--directory DIR]

In each round all programs of a job run one after the other, so that a slow or busy machine slows them all. Times are medians of elapsed time, ratios are
medians of the rounds' ratios; runs of milliseconds are repeated 15 times. Memory is the largest resident set of a run. The databases are in WAL mode.
"""
import argparse, os, shutil, statistics, subprocess, sys, tempfile, time

CHANGED = 100
START = ["sqlite3", ":memory:", "select 1"]
# What a change may cost: time, bytes and memory of the large jobs beside the program before it.
MORE = 1.05


class Run:
    """One finished program: elapsed milliseconds, and the peak of its memory in MiB."""

    def __init__(self, command, folder):
        # What the run before has left in memory would go to the disk at this one's cost.
        os.sync()
        with tempfile.TemporaryFile() as output:
            begin = time.monotonic()
            process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
            _, status, usage = os.wait4(process.pid, 0)
            self.time = (time.monotonic() - begin) * 1000
            process.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            if process.returncode: sys.exit(f"bench: {' '.join(command)} ended with {process.returncode}: {output.read().decode(errors='replace')}")
        self.memory, self.bytes = usage.ru_maxrss / 1024, 0


class Program:
    """A snapsync with a writer and a reader of its own, in a folder of its own."""

    def __init__(self, path, folder, rows):
        self.path, self.folder, self.rows = os.path.abspath(path), folder, rows
        os.makedirs(folder)
        self("generate", "--db", "writer.db", "--notifications", rows, "--buckets", 200, "--seed", 1)
        self.wal("writer.db")

    def __call__(self, *words):
        return Run([self.path, *map(str, words)], self.folder)

    def shell(self, pipeline):
        return Run(["bash", "-c", "set -eo pipefail; " + pipeline], self.folder)

    def wal(self, name):
        self.shell(f"sqlite3 {name} 'PRAGMA journal_mode = WAL'")

    def remove(self, *names):
        for name in names:
            for path in (os.path.join(self.folder, name + ending) for ending in ("", "-wal", "-shm", ".snapsync-lock", ".snapsync-kept")):
                if os.path.isdir(path): shutil.rmtree(path)
                elif os.path.exists(path): os.remove(path)

    def cloud_size(self):
        return sum(os.path.getsize(os.path.join(base, name)) for base, _, names in os.walk(os.path.join(self.folder, "cloud")) for name in names)

    def export(self):
        """An export, and how many bytes the shared directory has more after it."""
        before = self.cloud_size()
        run = self("export", "--db", "writer.db")
        run.bytes = self.cloud_size() - before
        return run

    def export_all(self):
        if os.path.exists(os.path.join(self.folder, "cloud")):
            self("detach", "--db", "writer.db")
            self.remove("cloud", "writer.db")
            self("generate", "--db", "writer.db", "--notifications", self.rows, "--buckets", 200, "--seed", 1)
            self.wal("writer.db")
        self("init", "--db", "writer.db", "--cloud", "cloud", "--role", "writer", "--device", "writer")
        return self.export()

    def import_all(self):
        self.remove("reader.db")
        self("init", "--db", "reader.db", "--cloud", "cloud", "--role", "reader", "--device", "reader", "--create", "--take-over")
        self.wal("reader.db")
        return self("import", "--db", "reader.db")

    def change(self, number):
        self("generate", "--db", "writer.db", "--mark-read", CHANGED, "--seed", number + 2)


class Bench:
    def __init__(self, ours, before):
        self.ours, self.before, self.lines = ours, before, []

    def programs(self):
        return [self.ours] + ([self.before] if self.before else [])

    def measure(self, rounds, job, other):
        """Runs a job of each program, and what stands beside it, in turn: lists of runs."""
        taken = [[] for _ in self.programs()] + [[]]
        for number in range(rounds):
            for runs, program in zip(taken, self.programs()): runs.append(job(program, number))
            taken[-1].append(other() if other else None)
        return taken

    def add(self, name, unit, taken, key, limit=None, most=None, beside="", share=None):
        """Adds a line: a figure, its ratio to the program before (at most `limit`), its own ceiling (`most`), and the ratio to what stands beside it (`share`)."""
        values = [[getattr(run, key) / (1000 if unit in ("s", "kB") else 1) for run in runs] for runs in taken[:len(self.programs())]]
        figure, before, is_met = statistics.median(values[0]), "", []
        if self.before:
            ratio = statistics.median(a / max(b, 1e-9) for a, b in zip(*values))
            before = f"{statistics.median(values[1]):.3g} ({ratio:.2f})"
            if limit: is_met.append(ratio <= limit)
        if most: is_met.append(figure <= most)
        goals = [f"{limit} of before"] if limit else []
        if most: goals.append(f"{most} {unit}")
        if beside:
            ratio = statistics.median(a.time / b.time for a, b in zip(taken[0], taken[-1]))
            beside = f"{ratio:.2f} of `{beside}`"
            if share:
                is_met.append(ratio <= share)
                goals.append(f"{share} of it")
        verdict = "" if not is_met else "met" if all(is_met) else "**not met**"
        self.lines.append(f"| {name} | {figure:.3g} {unit} | {before} | {beside} | {', '.join(goals)} | {verdict} |".replace("  ", " "))
        print(self.lines[-1], file=sys.stderr)

    def run(self, rounds):
        ours = self.ours
        dump, restore = "sqlite3 writer.db .dump \\| gzip -6", "zcat \\| sqlite3 new.db"
        taken = self.measure(rounds, lambda program, _: program.export_all(), lambda: ours.shell("sqlite3 writer.db .dump | gzip -6 > dump.sql.gz"))
        self.add("full export", "s", taken, "time", limit=MORE, beside=dump)
        self.add("full export, written", "kB", taken, "bytes", limit=MORE)
        self.add("full export, memory", "MiB", taken, "memory", limit=MORE)
        taken = self.measure(rounds, lambda program, _: program.import_all(), lambda: ours.shell("rm -f new.db; zcat dump.sql.gz | sqlite3 new.db"))
        self.add("full import", "s", taken, "time", limit=MORE, beside=restore)
        self.add("full import, memory", "MiB", taken, "memory", limit=MORE)

        imports = [[] for _ in self.programs()] + [[]]

        def changed(program, number):
            program.change(number)
            export = program.export()
            imports[self.programs().index(program)].append(program("import", "--db", "reader.db"))
            return export

        exports = self.measure(15, changed, None)
        for name, taken in (("export", exports), ("import", imports)):
            self.add(f"{CHANGED} rows changed, {name}", "ms", taken, "time", limit=MORE)
            if name == "export": self.add(f"{CHANGED} rows changed, written", "kB", taken, "bytes", limit=MORE)
            self.add(f"{CHANGED} rows changed, {name}, memory", "MiB", taken, "memory", limit=MORE)

        start = lambda: Run(START, ours.folder)
        for side in ("writer", "reader"):
            for program in self.programs(): program("sync", "--db", f"{side}.db")
            taken = self.measure(15, lambda program, _: program("sync", "--db", f"{side}.db"), start)
            self.add(f"`sync`, nothing new, {side}", "ms", taken, "time", most=15, beside=" ".join(START), share=8)
        taken = self.measure(15, lambda program, _: program("--version"), start)
        self.add("`--version`", "ms", taken, "time", beside=" ".join(START), share=4)
        size = os.path.getsize(ours.path) / 1e6
        self.lines.append(f"| the program's file | {size:.3g} MB | | | 60 MB | {'met' if size <= 60 else '**not met**'} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snapsync")
    parser.add_argument("--before", help="an earlier program")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--directory", help="where to work; default: a temporary directory")
    options = parser.parse_args()
    # A setting of the shell must not change what is measured.
    for name in ("SNAPSYNC_DB", "SNAPSYNC_CLOUD"): os.environ.pop(name, None)
    folder = tempfile.mkdtemp(prefix="snapsync-bench-", dir=options.directory)
    try:
        ours = Program(options.snapsync, os.path.join(folder, "now"), options.rows)
        before = Program(options.before, os.path.join(folder, "before"), options.rows) if options.before else None
        bench = Bench(ours, before)
        bench.run(options.rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"| {options.rows:,} rows | now | before (ratio) | beside it | goal: at most | |\n| --- | ---: | ---: | ---: | ---: | --- |")
    print("\n".join(bench.lines))


if __name__ == "__main__":
    main()
