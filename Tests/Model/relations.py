"""What must not matter, by the built command. Usage: relations.py COMMAND [SEED] [PAIRS] [bucket]; see series.py.

Each history is made twice, from the same statements at the same instants, the second time changed in a way that must not matter:

    order       the devices edit different rows: they sync at other times and in another order
    split       one sync becomes several, after each statement, while no other device publishes
    renamed     a device gets another name
    detached    a device is detached, with edits that are not sent, and joins again
    moved       the zone is copied to another folder, or with the word `bucket` to a bucket of SeaweedFS, and all devices continue there

At the end the tables and held rows of all devices are the same, in both. This program knows no rule of merging: it only compares. Except for `order`, devices
edit the same rows, with a UNIQUE column and a reference.
"""
import contextlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import clock
import series
from series import Fault

TABLES = """CREATE TABLE person(id INTEGER PRIMARY KEY, mail TEXT UNIQUE, first TEXT, last TEXT);
CREATE TABLE item(id INTEGER PRIMARY KEY, person INTEGER REFERENCES person(id), text TEXT, amount REAL);"""
KINDS = ["order", "split", "renamed", "detached", "moved"]


class Plan:
    """The devices of a history and its steps: (device, a statement), (device, None) for a sync; made without looking at any database."""

    def __init__(self, seed):
        r = self.r = random.Random(seed)
        self.kind = KINDS[seed % len(KINDS)]
        self.publishers, self.readers = r.choice([(2, 0), (3, 0), (2, 1), (1, 2)])
        self.names = [f"d{n}" for n in range(self.publishers + self.readers)]
        self.count, self.steps = 0, []
        device = 0
        for _ in range(r.randint(10, 30)):
            if r.random() < 0.5:
                device = r.randrange(len(self.names))
            self.steps.append((device, None if r.random() < 0.35 else self.statement(device)))
        if self.kind in KINDS[2:]:      # before a sync in both, as edits between `join` and the first sync count as older than the version
            place, device = r.randint(len(self.steps) // 3, len(self.steps)), r.randrange(len(self.names))
            self.steps[place:place] = [(device, "before"), (device, None)]

    def statement(self, device):
        r, own = self.r, self.kind == "order"
        self.count += 1
        def key(): return r.randint(1, 4) * 10 + (device if own else r.randint(0, 1))
        def mail(): return r.choice(["NULL", f"'{r.randint(1, 3)}@{device if own else 'all'}'"])
        text, table, column = f"'{self.count}'", r.choice(["person", "item"]), r.choice([0, 1])
        if r.random() < 0.4:
            values = f"{mail()}, {text}, {text}" if table == "person" else f"{r.choice(['NULL', key()])}, {text}, {self.count}.5"
            return f"INSERT OR IGNORE INTO {table} VALUES({key()}, {values})"
        if r.random() < 0.2:
            return f"DELETE FROM {table} WHERE id = {key()}"
        if r.random() < 0.3:
            return f"UPDATE OR IGNORE person SET mail = {mail()} WHERE id = {key()}"
        return f"UPDATE {table} SET {[['first', 'last'], ['text', 'amount']][table == 'item'][column]} = {text} WHERE id = {key()}"

    def changed(self):
        """The steps of the second history: besides statements and syncs, (device, the kind)."""
        r, steps = self.r, list(self.steps)
        if self.kind == "order":
            edits = [step for step in steps if step[1]]
            result = []
            for step in edits:
                result += [(r.randrange(len(self.names)), None) for _ in range(r.choice([0, 0, 1, 2]))] + [step]
            return result
        if self.kind == "split":
            # Between two syncs of a device without one of another: no other device sees the version in the middle.
            result, last = [], None
            for place, (device, what) in enumerate(steps):
                result.append((device, what))
                if what is None: last = device
                elif last == device == next((other for other, later in steps[place:] if later is None), None): result.append((device, None))
            return result
        return [(device, self.kind) if what == "before" else (device, what) for device, what in steps]


class History:
    """One history, made in a folder."""

    def __init__(self, plan, command, folder, shim, bucket):
        self.plan, self.command, self.folder, self.shim, self.bucket = plan, command, folder, shim, bucket
        self.begin = self.now = int(time.time()) * clock.SECOND - 3 * clock.HOUR
        self.location, self.names = "cloud", list(plan.names)
        os.mkdir(folder)

    def environment(self):
        return {k: v for k, v in os.environ.items() if not k.startswith("SNAPSYNC")} | {
            "LD_PRELOAD": self.shim, "ORACLE_CLOCK": str(self.now), "HOME": self.folder}

    def run(self, *words):
        done = subprocess.run([self.command, *words], cwd=self.folder, env=self.environment(), capture_output=True, text=True)
        if done.returncode: raise Fault(" ".join(words), done.returncode, done.stdout + done.stderr)

    def sql(self, device, text):
        done = subprocess.run(["sqlite3", "-bail", f"d{device}.db"], cwd=self.folder, env=self.environment(), 
                              input=f"PRAGMA foreign_keys = ON; {text}", capture_output=True, text=True)
        if done.returncode and "FOREIGN KEY" not in done.stderr: raise Fault(text, done.stderr)

    def join(self, device, *options):
        role = [] if device >= self.plan.publishers else ["--peer", "--shared-keys"] if self.plan.publishers > 1 else ["--writer", "--shared-keys"]
        self.run("join", f"d{device}.db", self.location, *role, "--name", self.names[device], *options)

    def make(self, steps):
        plan = self.plan
        for device in range(len(self.names)): self.sql(device, TABLES)
        self.sql(0, "INSERT INTO person VALUES(10, '1@0', 'x', 'x'), (20, '2@0', 'y', 'y'); INSERT INTO item VALUES(10, 10, 'z', 1)")
        self.run("init", "d0.db", self.location, "--name", "d0", "--tables", "person,item", "--reader-edits", "person,item", "--shared-keys", *(["--peers"] if plan.publishers > 1 else []))
        self.run("sync", "d0.db", "--quiet")
        for device in range(1, len(self.names)): self.join(device)
        for device in range(1, len(self.names)): self.run("sync", f"d{device}.db", "--quiet")
        statements = 0
        for device, what in steps:
            # A statement has the same instant in both histories. A sync is between two of them.
            self.now += 1000
            if what is None: self.run("sync", f"d{device}.db", "--quiet")
            elif what in KINDS: getattr(self, what)(device)
            elif what != "before":
                statements += 1
                self.now = self.begin + statements * clock.SECOND
                self.sql(device, what + ";")
        self.now = self.begin + (statements + 1) * clock.SECOND
        for _ in range(4):
            for device in range(len(self.names)):
                self.now += clock.SECOND
                self.run("sync", f"d{device}.db", "--quiet")
        return [self.rows(device) for device in range(len(self.names))]

    def renamed(self, device):
        self.run("device", "rename", f"d{device}.db", f"other{device}")

    def detached(self, device):
        self.run("detach", f"d{device}.db")
        self.join(device, "--keep-local")
        if self.plan.publishers == 1 and device == 0: self.run("import", "d0.db")

    def moved(self, device):
        old, self.location = self.location, self.bucket or "elsewhere"
        self.run("copy", old, self.location)
        for device in range(len(self.names)): self.run("device", "move", f"d{device}.db", self.location)
        if os.path.isdir(os.path.join(self.folder, old)): shutil.rmtree(os.path.join(self.folder, old))

    def rows(self, device):
        db = sqlite3.connect(os.path.join(self.folder, f"d{device}.db"))
        found = {name: db.execute(f"SELECT * FROM {name} ORDER BY id").fetchall() for name in ("person", "item")}
        if db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'snapsync_held'").fetchone():
            found["held"] = db.execute("SELECT dataset, key FROM snapsync_held ORDER BY 1, 2").fetchall()
        if db.execute("PRAGMA integrity_check").fetchall() != [("ok",)] or db.execute("PRAGMA foreign_key_check").fetchall():
            raise Fault("a constraint is broken", device)
        db.close()
        return found


@contextlib.contextmanager
def store(folder, wanted):
    """A function from a number to a location of its own in a bucket, or to none."""
    if not wanted:
        yield lambda number: None
        return
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "Faults"))
    import bucket_scene, s3
    os.mkdir(folder)
    server = bucket_scene.Server("seaweedfs.py", folder)
    s3.Bucket(server.endpoint, "relations").make()
    os.environ.update(bucket_scene.KEYS)
    try: yield lambda number: f"s3://relations/{number}?endpoint={server.endpoint}"
    finally: server.end()


class Pair:
    """A history, and the one that must end the same."""

    def __init__(self, seed, command, folder, shim, bucket):
        self.plan = Plan(seed)
        self.kind, self.steps = self.plan.kind, self.plan.steps
        self.histories = [History(self.plan, command, os.path.join(folder, name), shim, bucket) for name in ("first", "second")]

    def run(self):
        first, second = self.histories
        results = [("first", *result) for result in enumerate(first.make(self.steps))] + [("second", *result) for result in enumerate(second.make(self.plan.changed()))]
        different = [result for result in results if result[2] != results[0][2]]
        if different: raise Fault("not the same", results[0], *different)


if __name__ == "__main__":
    command, seeds = series.arguments()
    with tempfile.TemporaryDirectory() as scratch, store(os.path.join(scratch, "store"), sys.argv[4:] == ["bucket"]) as bucket:
        shim = clock.build(scratch)
        sys.exit(series.run(lambda number, folder: Pair(number, command, folder, shim, bucket(number)), seeds, "pairs of histories", "differ"))
