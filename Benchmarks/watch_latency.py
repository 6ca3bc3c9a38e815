#!/usr/bin/env python3
"""Measures how long a writer's change takes to the reader's database, hands free: two `snapsync watch`, one directory between them.

usage: watch_latency.py SNAPSYNC [--notifications 10000] [--changes 30] [--rows 1] [--pause 0.5] [--debounce 20ms] [--directory DIR]

Each change is one transaction of Python's sqlite3 at the writer; the clock runs from the return of its COMMIT until another
connection of Python sees the rows at the reader (looked at every millisecond). Beside it stand what the two watches say their runs took.
"""
import argparse, json, os, random, shutil, signal, sqlite3, statistics, subprocess, sys, tempfile, time
from dataclasses import dataclass


def run(snapsync, folder, *arguments):
    subprocess.run([snapsync, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def watch(snapsync, folder, name, debounce):
    """A watch that has begun; its lines go to a file."""
    lines = open(os.path.join(folder, name + ".lines"), "w+")
    process = subprocess.Popen([snapsync, "watch", "--db", name, "--json", "--poll", "1h", "--debounce", debounce], cwd=folder, stdout=lines)
    while '"started"' not in read(lines):
        time.sleep(0.01)
    time.sleep(1)  # its first run
    return process, lines


def read(lines):
    return open(lines.name).read()


def runs(lines, event):
    found = [json.loads(line) for line in read(lines).splitlines()]
    return [line["milliseconds"] for line in found if line["event"] == event]


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


@dataclass
class Latency:
    """How long each change took to the reader, and each run of the two watches, in milliseconds."""
    setting: str
    took: list
    exported: list
    imported: list

    @property
    def median(self):
        return statistics.median(self.took)

    @property
    def ninety(self):
        return percentile(self.took, 0.9)

    def text(self):
        return (f"{self.setting}: median {self.median:.1f} ms, 90 % within {self.ninety:.1f} ms, best {min(self.took):.1f}, worst {max(self.took):.1f}; "
                f"the writer's run {statistics.median(self.exported):.0f} ms, the reader's {statistics.median(self.imported):.0f} ms")


def measure(snapsync, notifications=10000, changes=30, rows=1, pause=0.5, debounce="20ms", directory=None):
    """Makes a writer and a reader, lets both watch, and changes the writer's rows."""
    snapsync = os.path.abspath(snapsync)
    folder = tempfile.mkdtemp(prefix="snapsync-latency-", dir=directory)
    for name in ("SNAPSYNC_DB", "SNAPSYNC_CLOUD"):
        os.environ.pop(name, None)
    watches = []
    try:
        run(snapsync, folder, "generate", "--db", "writer.db", "--notifications", str(notifications), "--buckets", "50")
        sqlite3.connect(os.path.join(folder, "writer.db")).execute("PRAGMA journal_mode = wal")
        run(snapsync, folder, "init", "--db", "writer.db", "--cloud", "cloud", "--role", "writer", "--device", "writer")
        run(snapsync, folder, "export", "--db", "writer.db")
        run(snapsync, folder, "init", "--db", "reader.db", "--cloud", "cloud", "--role", "reader", "--device", "reader", "--create")
        run(snapsync, folder, "import", "--db", "reader.db")
        for name in ("writer.db", "reader.db"):
            watches.append(watch(snapsync, folder, name, debounce))
        writer = sqlite3.connect(os.path.join(folder, "writer.db"), isolation_level=None)
        reader = sqlite3.connect(os.path.join(folder, "reader.db"), isolation_level=None)
        keys = [row[0] for row in writer.execute("SELECT id FROM notifications ORDER BY id")]
        chance = random.Random(1)
        took = []
        for number in range(changes):
            title = f"change {number}"
            chosen = chance.sample(keys, rows)
            writer.execute("BEGIN IMMEDIATE")
            writer.executemany("UPDATE notifications SET title = ? WHERE id = ?", [(title, key) for key in chosen])
            writer.execute("COMMIT")
            begin = time.monotonic()
            while reader.execute("SELECT title FROM notifications WHERE id = ?", (chosen[-1],)).fetchone()[0] != title:
                if time.monotonic() - begin > 60:
                    sys.exit("watch_latency: a change has not come within a minute")
                time.sleep(0.001)
            took.append((time.monotonic() - begin) * 1000)
            time.sleep(pause * chance.uniform(0.5, 1.5))
        for process, _ in watches:
            process.send_signal(signal.SIGTERM)
        for process, _ in watches:
            if process.wait() != 0:
                sys.exit(f"watch_latency: a watch ended with {process.returncode}")
        setting = f"{notifications:,} notifications, {changes} changes of {rows} row(s), debounce {debounce}"
        return Latency(setting, took, runs(watches[0][1], "exported"), runs(watches[1][1], "imported"))
    finally:
        for process, _ in watches:
            if process.poll() is None:
                process.kill()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snapsync")
    parser.add_argument("--notifications", type=int, default=10000)
    parser.add_argument("--changes", type=int, default=30)
    parser.add_argument("--rows", type=int, default=1, help="how many rows a change touches")
    parser.add_argument("--pause", type=float, default=0.5, help="seconds between changes")
    parser.add_argument("--debounce", default="20ms")
    parser.add_argument("--directory", help="where to work; default: a temporary directory")
    print(measure(**vars(parser.parse_args())).text())


if __name__ == "__main__":
    main()
