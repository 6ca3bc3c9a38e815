#!/usr/bin/env python3
"""Runs snapsync and its competitors in turn on the same data and prints one table of ratios.

usage: bench.py SNAPSYNC [--sizes 100000,1000000] [--rounds 3] [--directory DIR]

Each row is a job that both do: ours and theirs run one after the other in every round, so that a slow or busy machine
slows both; the figures are medians, the ratio is the median of the rounds' ratios. "peak" is the largest resident memory
of any one process, in MiB. "bytes" is what was written to (export) or read from (import) the shared directory.
"""
import argparse, json, os, shutil, statistics, subprocess, sys, tempfile, time


PIPE = '\\|'  # a bar that does not end a table's cell


class Run:
    """One finished command: wall seconds, processor seconds and peak memory in MiB."""

    def __init__(self, command, cwd):
        begin = time.monotonic()
        process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        message = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.wall = time.monotonic() - begin
        self.cpu = usage.ru_utime + usage.ru_stime
        self.peak = usage.ru_maxrss / 1024
        if process.returncode != 0:
            sys.exit(f"bench: {' '.join(command)} ended with {process.returncode}: {message.decode(errors='replace')}")


class Bench:
    def __init__(self, snapsync, folder, rounds):
        self.snapsync = snapsync
        self.folder = folder
        self.rounds = rounds
        self.rows = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def ours(self, *arguments):
        return Run([self.snapsync, *arguments], self.folder)

    def theirs(self, pipeline):
        return Run(["bash", "-c", "set -eo pipefail; " + pipeline], self.folder)

    def size(self, name):
        return os.path.getsize(self.path(name))

    def remove(self, *names):
        for name in names:
            path = self.path(name)
            shutil.rmtree(path) if os.path.isdir(path) else (os.remove(path) if os.path.exists(path) else None)

    def assets(self):
        """The size of each asset and index in the cloud, by name."""
        found = {}
        for base, _, names in os.walk(self.path("cloud")):
            for name in names:
                found[os.path.join(base, name)] = os.path.getsize(os.path.join(base, name))
        return found

    def written(self, before):
        return sum(size for name, size in self.assets().items() if name not in before)

    def add(self, count, job, pairs, competitor, bytes_ours, bytes_theirs):
        ours = [a for a, _ in pairs]
        theirs = [b for _, b in pairs if b]
        median = lambda runs, key: statistics.median(getattr(run, key) for run in runs)
        row = {
            "rows": count, "job": job, "ours_s": median(ours, "wall"), "ours_cpu_s": median(ours, "cpu"), "ours_peak": max(r.peak for r in ours),
            "ours_bytes": bytes_ours, "competitor": competitor,
        }
        if theirs:
            row |= {
                "theirs_s": median(theirs, "wall"), "theirs_peak": max(r.peak for r in theirs), "theirs_bytes": bytes_theirs,
                "ratio": statistics.median(a.wall / b.wall for a, b in pairs),
            }
        self.rows.append(row)
        print(f"  {job}: {row['ours_s']:.3f} s" + (f", {competitor}: {row['theirs_s']:.3f} s, ratio {row['ratio']:.2f}" if theirs else ""), file=sys.stderr)

    def measure(self, count):
        print(f"{count:,} notifications", file=sys.stderr)
        for name in os.listdir(self.folder):
            self.remove(name)
        self.ours("generate", "--db", "writer.db", "--notifications", str(count), "--buckets", "200", "--seed", "1")
        self.theirs("sqlite3 writer.db 'PRAGMA journal_mode=WAL'")
        self.export(count)
        self.importing(count)
        self.changed(count)
        self.unchanged(count)

    def fresh_cloud(self):
        if os.path.exists(self.path("cloud")):
            self.ours("detach", "--db", "writer.db")
            self.remove("cloud")
        self.ours("init", "--db", "writer.db", "--cloud", "cloud", "--role", "writer", "--device", "writer")

    def export(self, count):
        competitors = [("sqlite3 .dump | gzip -6", "sqlite3 writer.db .dump | gzip -6 > dump.sql.gz", "dump.sql.gz")]
        if shutil.which("zstd"):
            competitors.append(("sqlite3 .dump | zstd -3 -T2", "sqlite3 writer.db .dump | zstd -q -3 -T2 -f -o dump.zst", "dump.zst"))
        else:
            print("  skipped: zstd is not installed", file=sys.stderr)
        for name, pipeline, result in competitors:
            pairs = []
            for _ in range(self.rounds):
                self.fresh_cloud()
                before = self.assets()
                ours = self.ours("export", "--db", "writer.db")
                written = self.written(before)
                pairs.append((ours, self.theirs(pipeline)))
            self.add(count, "export, whole", pairs, name, written, self.size(result))

    def importing(self, count):
        name = "zcat dump.sql.gz | sqlite3 new.db"
        read = sum(size for file, size in self.assets().items() if file.endswith(".gz"))
        for job, isFilled in [("import, into an empty database", False), ("import, over as many other rows", True)]:
            pairs = []
            for number in range(self.rounds):
                self.remove("reader.db", "reader.db-wal", "reader.db-shm", "restored.db")
                if isFilled:
                    self.ours("generate", "--db", "reader.db", "--notifications", str(count), "--buckets", "200", "--seed", "99")
                    self.theirs("sqlite3 reader.db 'PRAGMA journal_mode=WAL'")
                self.ours("init", "--db", "reader.db", "--cloud", "cloud", "--role", "reader", "--device", f"reader-{number}", "--create", "--replace")
                ours = self.ours("import", "--db", "reader.db")
                pairs.append((ours, self.theirs("zcat dump.sql.gz | sqlite3 restored.db")))
            self.add(count, job, pairs, name, read, self.size("dump.sql.gz"))

    def changed(self, count):
        exports, imports = [], []
        for number in range(self.rounds):
            self.ours("generate", "--db", "writer.db", "--mark-read", str(min(100, count)), "--seed", str(number + 2))
            before = self.assets()
            exports.append((self.ours("export", "--db", "writer.db"), self.theirs("sqlite3 writer.db .dump | gzip -6 > dump.sql.gz")))
            written = self.written(before)
            self.remove("restored.db")
            imports.append((self.ours("import", "--db", "reader.db"), self.theirs("zcat dump.sql.gz | sqlite3 restored.db")))
        self.add(count, "export, 100 rows changed", exports, "sqlite3 .dump | gzip -6", written, self.size("dump.sql.gz"))
        self.add(count, "import, 100 rows changed", imports, "zcat dump.sql.gz | sqlite3 new.db", written, self.size("dump.sql.gz"))

    def unchanged(self, count):
        before = self.assets()
        self.add(count, "export, nothing new", [(self.ours("export", "--db", "writer.db"), None) for _ in range(self.rounds)], "", self.written(before), 0)
        self.add(count, "import, nothing new", [(self.ours("import", "--db", "reader.db"), None) for _ in range(self.rounds)], "", 0, 0)

    def table(self):
        lines = [
            "| rows | job | ours, s | peak MiB | MB | competitor | theirs, s | peak MiB | MB | ratio |",
            "| ---: | --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: |",
        ]
        for row in self.rows:
            ours = f"| {row['rows']:,} | {row['job']} | {row['ours_s']:.3f} | {row['ours_peak']:.0f} | {row['ours_bytes'] / 1e6:.2f} |"
            theirs = " | | | | |"
            if "ratio" in row:
                theirs = f" {row['competitor'].replace('|', PIPE)} | {row['theirs_s']:.3f} | {row['theirs_peak']:.0f} | {row['theirs_bytes'] / 1e6:.2f} | **{row['ratio']:.2f}** |"
            lines.append(ours + theirs)
        return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snapsync")
    parser.add_argument("--sizes", default="150,100000,1000000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--directory", help="where to work; default: a temporary directory, removed at the end")
    parser.add_argument("--json", help="also write the figures to that file")
    options = parser.parse_args()
    folder = options.directory or tempfile.mkdtemp(prefix="snapsync-bench-")
    os.makedirs(folder, exist_ok=True)
    # A setting of the shell must not change what is measured.
    for name in ("SNAPSYNC_DB", "SNAPSYNC_CLOUD"):
        os.environ.pop(name, None)
    bench = Bench(os.path.abspath(options.snapsync), folder, options.rounds)
    try:
        for size in options.sizes.split(","):
            bench.measure(int(size))
    finally:
        if not options.directory:
            shutil.rmtree(folder, ignore_errors=True)
    print(bench.table())
    if options.json:
        with open(options.json, "w") as file:
            json.dump(bench.rows, file, indent=1)


if __name__ == "__main__":
    main()
