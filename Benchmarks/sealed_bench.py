#!/usr/bin/env python3
"""Measures signed and sealed zones beside a plain one, and encrypting tools on the same data, and prints one table.

usage: sealed_bench.py SNAPSYNC [--rows 100000] [--rounds 3] [--directory DIR]

In every round the three kinds run one after the other, so that a slow or busy machine slows all; the figures are medians, the ratio is the
median of the rounds' ratios to the plain zone, and so is the difference in processor time. restic encrypts what it stores; age encrypts a pipe.
Either is left out where it is missing. The jobs of a small zone, which has 40 rows, tell what a version costs besides its data.
"""
import argparse, os, re, shutil, sqlite3, statistics, sys, tempfile

from measured_run import MeasuredRun, shell

KINDS = ["plain", "signed", "sealed"]
CHANGED = 100
SMALL, SMALL_ROWS = "small.db", 40


class SealedBench:
    def __init__(self, options, folder):
        self.options, self.folder, self.figures = options, folder, {}

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def use(self, kind):
        """The devices' keys lie in the folder of the kind, too."""
        os.environ["XDG_DATA_HOME"] = self.path(kind, "keys")

    def ours(self, kind, *arguments, accepts=(0,)):
        """Runs the command in the folder of a kind."""
        return MeasuredRun([self.options.snapsync, *map(str, arguments)], self.path(kind), accepts)

    def note(self, job, kind, run, size=0):
        self.figures.setdefault(job, {}).setdefault(kind, []).append((run, size))
        print(f"  {job}, {kind}: {run.wall:.3f} s", file=sys.stderr)

    def files(self, kind):
        return {os.path.join(base, name): os.path.getsize(os.path.join(base, name)) for base, _, names in os.walk(self.path(kind, "cloud")) for name in names}

    def sync(self, job, kind, database, *line):
        """A run that is measured, with the bytes that it has written to the cloud."""
        before = self.files(kind)
        run = self.ours(kind, *(line or ("sync",)), "--db", database)
        self.note(job, kind, run, sum(size for name, size in self.files(kind).items() if name not in before))

    def change(self, kind, number):
        shell(f"sqlite3 writer.db \"UPDATE notifications SET title = title || ' {number}' WHERE rowid % {self.options.rows // CHANGED} = {number}\"", self.path(kind))

    def fresh(self, kind, database="writer.db"):
        """A writer that has published nothing, with the same rows in each round."""
        shutil.rmtree(self.path(kind), ignore_errors=True)
        os.mkdir(self.path(kind))
        self.use(kind)
        shutil.copyfile(self.path(database), self.path(kind, "writer.db"))
        flags = [] if kind == "plain" else ["--" + kind]
        self.ours(kind, "init", "--db", "writer.db", "--cloud", "cloud", "--role", "writer", "--device", "writer", *flags)

    def join(self, kind):
        line = ("init", "--db", "reader.db", "--cloud", "cloud", "--role", "reader", "--device", "reader", "--create")
        run = self.ours(kind, *line, accepts=(0, 75))
        if kind != "plain":
            self.ours(kind, "member", "approve", "reader", "--yes", "--db", "writer.db")
        if "has asked to be a member" in run.output + run.message:
            self.ours(kind, *line)

    def round(self):
        for kind in KINDS:
            self.fresh(kind)
            self.sync("export, whole", kind, "writer.db")
        for kind in KINDS:
            self.use(kind)
            self.join(kind)
            self.note("import, into an empty database", kind, self.ours(kind, "sync", "--db", "reader.db"))
        for number in range(1, 6):
            for kind in KINDS:
                self.use(kind)
                self.change(kind, number)
                self.sync("export, 100 rows changed", kind, "writer.db")
                self.note("import, 100 rows changed", kind, self.ours(kind, "sync", "--db", "reader.db"))
        for _ in range(15):
            for kind in KINDS:
                self.use(kind)
                self.note("sync, nothing new, writer", kind, self.ours(kind, "sync", "--db", "writer.db"))
                self.note("sync, nothing new, reader", kind, self.ours(kind, "sync", "--db", "reader.db"))
        for kind in KINDS:
            self.use(kind)
            self.ours(kind, "export", "--full", "--db", "writer.db")
            self.ours(kind, "sync", "--db", "reader.db")
        for _ in range(3):
            for kind in KINDS:
                self.use(kind)
                self.catching_up(kind)
        self.others()
        self.small()

    def catching_up(self, kind):
        """A reader that finds its rows altered behind the tracking, so that no chain of changes helps: it compares block by block."""
        with sqlite3.connect(self.path(kind, "reader.db")) as reader:
            reader.execute("INSERT INTO snapsync_importing VALUES(1)")
            reader.execute(
                "UPDATE notifications SET title = title || '!' WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id) AS place"
                " FROM notifications) WHERE place % ? = 0 LIMIT ?)", (max(1, self.options.rows // CHANGED), CHANGED))
            reader.execute("DELETE FROM snapsync_importing")
        reader.close()
        self.ours(kind, "verify", "--local", "--db", "reader.db", accepts=(65,))
        self.note(f"catching up by blocks, {CHANGED} rows differ", kind, self.ours(kind, "import", "--db", "reader.db"))

    def small(self):
        """Versions of a zone of few rows, which cost little but what every version costs."""
        for kind in KINDS:
            self.fresh(kind, SMALL)
            self.ours(kind, "sync", "--db", "writer.db")
            self.join(kind)
            self.ours(kind, "sync", "--db", "reader.db")
        for number in range(40):
            # The order turns, so that none is always the first.
            for kind in KINDS[number % 3:] + KINDS[:number % 3]:
                self.use(kind)
                shell(f"sqlite3 writer.db \"UPDATE notifications SET title = 'title {number}' WHERE rowid = 7\"", self.path(kind))
                self.sync("small zone, a version, writer", kind, "writer.db")
                self.note("small zone, a version, reader", kind, self.ours(kind, "sync", "--db", "reader.db"))

    def others(self):
        """What else encrypts the same table."""
        os.environ["RESTIC_PASSWORD"], os.environ["RESTIC_CACHE_DIR"] = "benchmark", self.path("restic-cache")
        if shutil.which("restic"):
            for name in ("restic", "restic-cache"):
                shutil.rmtree(self.path(name), ignore_errors=True)
            shutil.copyfile(self.path("writer.db"), self.path("other.db"))
            shell("restic -q -r restic init", self.folder)
            self.note("export, whole", "restic", shell("restic -q -r restic backup other.db", self.folder), self.size("restic"))
            before = self.size("restic")
            shell(f"sqlite3 other.db \"UPDATE notifications SET title = title || ' 1' WHERE rowid % {self.options.rows // CHANGED} = 1\"", self.folder)
            self.note("export, 100 rows changed", "restic", shell("restic -q -r restic backup other.db", self.folder), self.size("restic") - before)
            shutil.rmtree(self.path("restored"), ignore_errors=True)
            self.note("import, into an empty database", "restic", shell("restic -q -r restic restore latest --target restored", self.folder))
        if shutil.which("age"):
            shell("rm -f age.key && age-keygen -o age.key 2>age.public", self.folder)
            public = re.search(r"age1\w+", open(self.path("age.public")).read()).group()
            run = shell(f"sqlite3 writer.db .dump | gzip -1 | age -r {public} > dump.age", self.folder)
            self.note("export, whole", "age", run, os.path.getsize(self.path("dump.age")))
            self.note("import, into an empty database", "age", shell("rm -f aged.db; age -d -i age.key dump.age | zcat | sqlite3 aged.db", self.folder))

    def size(self, name):
        return sum(os.path.getsize(os.path.join(base, file)) for base, _, files in os.walk(self.path(name)) for file in files)

    def run(self):
        MeasuredRun([self.options.snapsync, "generate", "--db", "writer.db", "--notifications", str(self.options.rows), "--buckets", "200", "--seed", "1"], self.folder)
        MeasuredRun([self.options.snapsync, "generate", "--db", SMALL, "--notifications", str(SMALL_ROWS), "--buckets", "4", "--seed", "1"], self.folder)
        for number in range(self.options.rounds):
            print(f"round {number + 1}", file=sys.stderr)
            self.round()

    def table(self):
        names = {"restic": "restic backup, restore", "age": "sqlite3 .dump \\| gzip -1 \\| age"}
        lines = ["| rows | job | zone | s | processor, s | peak MiB | MB written | ratio to plain | ratio of processor time | more of it, ms |", "| ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
        for job, kinds in self.figures.items():
            for kind, runs in kinds.items():
                # The rounds of the others count once for each round of ours.
                plain = kinds["plain"] if len(kinds["plain"]) == len(runs) else [kinds["plain"][i * len(kinds["plain"]) // len(runs)] for i in range(len(runs))]
                middle = lambda key: statistics.median(getattr(run, key) for run, _ in runs)
                ratio = lambda key: statistics.median(getattr(run, key) / getattr(other, key) for (run, _), (other, _) in zip(runs, plain))
                more = statistics.median(run.cpu - other.cpu for (run, _), (other, _) in zip(runs, plain)) * 1000
                size = statistics.median(size for _, size in runs)
                lines.append(
                    f"| {SMALL_ROWS if job.startswith('small') else self.options.rows:,} | {job} | {names.get(kind, kind)} | {middle('wall'):.3f} | {middle('cpu'):.3f} | {max(run.peak for run, _ in runs):.0f} | "
                    + (f"{size / 1e6:.2f}" if size else "") + " | " + (f"**{ratio('wall'):.2f}** | {ratio('cpu'):.2f} | {more:.1f} |" if kind != "plain" else "| | |"))
        return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("snapsync")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--directory")
    options = parser.parse_args()
    options.snapsync = os.path.abspath(options.snapsync)
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        bench = SealedBench(options, folder)
        bench.run()
        print(bench.table())


if __name__ == "__main__":
    main()
