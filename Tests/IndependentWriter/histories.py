"""Random histories of two devices: one is the command, the other one writer.py. Usage: histories.py COMMAND [SEED] [HISTORIES]

They are two peers, a writer and a reader, or a reader and a writer. Prints the seed of each history with a fault. With KEEP=1 its folder is kept, with STEPS=1 its steps are printed.
"""
import glob
import gzip
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback

from writer import Dataset, Participant, Zone, canonical
from rules import Row, waits

TOKEN = re.compile(r"#\d+#")
ODD = ["", "é\u0301 ", "\"\\/\b\f\n\r\t\x01\x7f", "\U0001f680\u2028", "1", "null"]
VALUES = [0, -1, 2**63 - 1, -2**63, 0.5, -1e-5, 1.7976931348623157e308, float("-inf"), "", "1.5", b"", b"\0\xff", None]


def described(name, columns, primary, unique=(), references=(), on_delete="noAction", **more):
    """A description of a table. Each column is its name and its declared type, with ! behind it for NOT NULL."""
    declared = [(c, kind.rstrip("!"), "!" in kind) for c, kind in columns]
    return {
        "formatVersion": 1,
        "dataset": {"name": name, "table": name, "key": primary[0] if len(primary) == 1 else primary, "columns": [{"name": c} for c, _, _ in declared],
                    "recordName": name + "_data", "recordType": name.capitalize() + "Data", **more},
        "structure": {
            "autoincrement": False, "columns": [{"collation": "binary", "column": c, "declared": kind, "notNull": required} for c, kind, required in declared],
            "primaryKey": primary, "strict": False, "withoutRowid": len(primary) > 1,
            "unique": [{"columns": list(u), "collations": ["binary"] * len(u)} for u in unique],
            "references": [{"columns": [c], "onDelete": on_delete, "onUpdate": "noAction", "parent": parent, "parentColumns": ["id"]} for c, parent in references]}}


def tables(lots, readers_edit):
    """Three tables: a text key and a UNIQUE column, an integer key with a reference and a timestamp, and a key of two columns."""
    messages = lambda *patch: {"messages": lots.choice([{"rows": True}, {"rows": True}, {"patch": list(patch), "delete": lots.random() < 0.5}])} if readers_edit else {}
    together = lots.choice([{}, {}, {"together": "row"}, {"together": [["title", "note"]]}])
    people = described("people", [("id", "text!"), ("name", "text"), ("mail", "text"), ("isOrphan", "boolean")], ["id"], [("mail",)], **messages("name", "mail"))
    tasks = described("tasks", [("id", "integer"), ("title", "text"), ("note", "untyped"), ("owner", "text"), ("updated_at", "text")], ["id"], [],
                      [("owner", "people")], lots.choice(["noAction", "setNull", "cascade"]), timestamp="updated_at", **together, **messages("note"))
    pairs = described("pairs", [("a", "text!"), ("b", "untyped!"), ("x", "integer"), ("y", "integer"), ("value", "untyped")], ["a", "b"], [("x", "y")], **messages("x", "value"))
    return [Dataset(canonical(one).decode()) for one in (people, tasks, pairs)]


class Fault(Exception):
    pass


class History:
    def __init__(self, seed, command, folder):
        self.lots, self.command, self.folder, self.steps, self.count = random.Random(seed), command, folder, [], 0
        self.seed, self.location, self.db = seed, os.path.join(folder, "cloud"), os.path.join(folder, "cmd.db")
        self.kind = ["peers", "writer", "peers", "reader"][seed % 4]          # what the Python program is
        self.is_first = self.kind == "writer" or self.kind == "peers" and self.lots.random() < 0.5
        self.datasets = tables(self.lots, self.kind != "peers")
        self.offset = self.lots.choice([0, 0, 0, 3600, -3600]) * 1_000_000      # of Python's clock
        self.bulk = 300 if self.lots.random() < 0.1 else 0      # so many rows that the command writes change assets
        self.fill = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO people(id, name) SELECT 'q' || i, hex(randomblob(4000)) FROM n",
                     [self.bulk])
        self.written, self.replaced, self.seen = {}, set(), set()     # `seen`: replaced on the other device

    # The two devices

    def run_command(self, *arguments):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("SNAPSYNC")} | {"HOME": self.folder}
        done = subprocess.run([self.command, *arguments], cwd=self.folder, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise Fault("the command failed", arguments, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def sync_command(self):
        self.steps.append(("cmd", "sync"))
        self.run_command("sync", "cmd.db", "--quiet")

    def sync_python(self, race=False):
        self.steps.append(("python", "sync", race))
        hooks = [self.race] if race else []
        self.python.sync(lambda: hooks.pop()() if hooks else None)

    def race(self):
        """The command publishes while the Python program is about to."""
        self.statement(False)
        self.sync_command()

    def command_rows(self):
        connection, found, held = sqlite3.connect(self.db), {}, {}
        for d in self.datasets:
            for row in connection.execute(f"SELECT {', '.join(d.schema.names)} FROM {d.name}"):
                key, values = d.split(dict(zip(d.schema.names, row)))
                found[d.name, key] = values
        connection.close()
        return found

    # Statements

    def token(self, text=""):
        self.count += 1
        return f"{text}#{self.count}#"

    def value(self, column):
        r = self.lots
        if column in ("name", "title"):
            return self.token(r.choice(ODD))
        if column in ("note", "value"):
            return r.choice(VALUES) if r.random() < 0.3 else self.token(r.choice(ODD))
        if column == "updated_at":
            moment = time.time() - r.choice([0, 0, 1, 3600])
            return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment)) + f".{int(moment % 1 * 1000):03}Z"
        return {"mail": lambda: r.choice([None, "m1", "m2", "m3"]), "owner": lambda: r.choice([None, "p1", "p2", "p3", "p4"]),
                "x": lambda: r.choice([None, 1, 2]), "y": lambda: r.choice([1, 2]), "isOrphan": lambda: None}[column]()

    def key(self, dataset):
        r = self.lots
        return {"people": lambda: [f"p{r.randint(1, 5)}" if not self.bulk or r.random() < 0.5 else f"q{r.randint(1, self.bulk)}"], "tasks": lambda: [r.randint(1, 5)], "pairs": lambda: [r.choice("ab"), r.choice([1, 2.5, "x", b"\0"])]}[dataset.name]()

    def statement(self, is_python=None):
        """One random statement on one device. SQLite may refuse it."""
        r, is_python = self.lots, self.lots.random() < 0.5 if is_python is None else is_python
        dataset = r.choice(self.datasets)
        key = self.key(dataset)
        key = tuple(key) if len(key) > 1 else key[0]
        rows = self.python.rows() if is_python else self.command_rows()
        before, where = rows.get((dataset.name, key)), " AND ".join(f"{k} = ?" for k in dataset.key)
        keys, columns, chance = list(key) if isinstance(key, tuple) else [key], [c for c in dataset.schema.names if c not in dataset.key], r.random()
        if before is None or chance < 0.05:
            sql = f"INSERT{' OR REPLACE' if chance < 0.2 else ''} INTO {dataset.name} VALUES({', '.join('?' * (len(keys) + len(columns)))})"
            values = [keys[dataset.key.index(c)] if c in dataset.key else self.value(c) for c in dataset.schema.names]
        elif chance < 0.25:
            sql, values = f"DELETE FROM {dataset.name} WHERE {where}", keys
        elif chance < 0.3:
            sql, values = f"UPDATE {dataset.name} SET {dataset.key[-1]} = ? WHERE {where}", [self.key(dataset)[-1], *keys]
        else:
            changed = r.sample(columns, r.choice([1, 1, 2]))
            sql, values = f"UPDATE {dataset.name} SET {', '.join(c + ' = ?' for c in changed)} WHERE {where}", [*map(self.value, changed), *keys]
        try:
            if is_python:
                self.python.edit(sql, values)
            else:
                connection = sqlite3.connect(self.db, isolation_level=None)
                connection.execute("PRAGMA foreign_keys = ON")
                connection.execute("PRAGMA recursive_triggers = ON")
                connection.execute(sql, values)
                connection.close()
        except sqlite3.IntegrityError:
            return
        after = self.python.rows() if is_python else self.command_rows()
        tokens = [set(TOKEN.findall(repr(one))) for one in (rows, after)]
        self.steps.append(("python" if is_python else "cmd", sql, values))
        self.written |= dict.fromkeys(tokens[1] - tokens[0], is_python)
        self.replaced |= tokens[0] - tokens[1]
        self.seen |= {t for t in tokens[0] - tokens[1] if self.written[t] != is_python}

    # A history

    def set_up(self):
        r = self.lots
        ddl = ";\n".join(d.own.create({d.name: d.name for d in self.datasets}, True) for d in self.datasets)
        if self.is_first:
            self.python = Participant("python", self.location, "peer" if self.kind == "peers" else "writer", r, self.datasets, self.offset)
            self.python.edit(*(self.fill if self.bulk else ("INSERT INTO people(id) VALUES('p1')", [])))
            for _ in range(r.randint(1, 8)):
                self.statement(True)
            self.sync_python()
            self.run_command("join", "cmd.db", "cloud", "--name", "cmd", *(["--peer", "--shared-keys"] if self.kind == "peers" else []))
            self.sync_command()
            return
        connection = sqlite3.connect(self.db)
        connection.executescript(ddl)
        if self.bulk:
            connection.execute(*self.fill)
            connection.commit()
        connection.close()
        for _ in range(r.choice([0, 5])):
            self.statement(False)
        with open(os.path.join(self.folder, "datasets.json"), "wb") as file:
            file.write(canonical({"formatVersion": 1, "datasets": [d.own_body for d in self.datasets]}))
        self.run_command("init", "cmd.db", "cloud", "--name", "cmd", "--datasets", "datasets.json", "--shared-keys", *(["--peers"] if self.kind == "peers" else []))
        for _ in range(r.choice([1, 5])):
            self.statement(False)
        self.sync_command()
        self.python = Participant("python", self.location, "peer" if self.kind == "peers" else "reader", r, offset=self.offset)
        self.sync_python()
        self.datasets = list(self.python.datasets.values())

    def run(self):
        r = self.lots
        self.set_up()
        for _ in range(r.choice([5, 10, 20, 40, 80])):
            chance = r.random()
            if chance < 0.6:
                self.statement()
            elif chance < 0.8:
                self.sync_command()
            else:
                self.sync_python(race=self.kind != "reader" and self.kind == "peers" and r.random() < 0.2)
        newest = None
        for _ in range(8):
            self.sync_python()
            self.sync_command()
            if newest == self.newest() == self.python.version:
                break
            newest = self.newest()
        else:
            raise Fault("the devices do not come to rest")
        self.judge()

    def newest(self):
        return int(max(os.listdir(os.path.join(self.location, "private/main/commits")))[:20])

    def judge(self):
        rows, own, python = self.command_rows(), self.python.rows(), self.python
        pending = json.loads(self.run_command("pending", "cmd.db", "--json"))
        if any(pending[n] for n in ("waiting", "setAside", "sent")) or python.handed_over() or python.publishes and python.entries:
            raise Fault("edits that were not decided", pending, *python.entries)
        datasets = {d.name: d for d in self.datasets}       # what readers may not edit differs, on this reader alone
        kept = {edit.key for _, edit in python.entries} | {
            (e["dataset"], datasets[e["dataset"]].key_of(e["entityId"] if e["dataset"] == "people" else json.loads(e["entityId"]))) for e in pending["kept"]}
        differing = [(k, rows.get(k), own.get(k)) for k in {**rows, **own} if rows.get(k) != own.get(k) and k not in kept]
        if differing:
            raise Fault("(key, the command's, Python's)", *differing)
        self.run_command("check", "cloud", "--all-versions")
        zone, files = Zone(self.location), python.files
        for version in map(zone.version, zone.history.list()):
            for table in map(version.table, version.tables()):
                list(table.rows()), table.held()
        for file in files.list("checkpoints"):
            with open(os.path.join(files.folder, "checkpoints", file), "rb") as stream:
                if stream.read() != files.checkpoint(zone.history, int(file[:20])):
                    raise Fault("a checkpoint has other bytes than Python would write", file)
        connection = sqlite3.connect(self.db)
        journal, names, lost = "", {n for n, in connection.execute("SELECT name FROM sqlite_schema")}, repr(python.journal)
        for table, column in (("snapsync_conflicts", "loser"), ("snapsync_waiting", "entity"), ("snapsync_held", "entity")):
            journal += "\n".join(str(e) for e, in connection.execute(f"SELECT {column} FROM {table}")) if table in names else ""
        if "snapsync_conflicts" in names:
            for loser, columns in connection.execute("SELECT loser, columns FROM snapsync_conflicts WHERE loser IS NOT NULL AND columns IS NOT NULL"):
                lost += repr([json.loads(loser).get(c) for c in json.loads(columns)])
        if self.seen & set(TOKEN.findall(lost)) and not any("together" in d.own_body for d in self.datasets):
            raise Fault("recorded as lost, but who replaced it had seen it", *self.seen & set(TOKEN.findall(lost)))
        dataset = dict(connection.execute("SELECT id, dataset FROM snapsync_tracking"))
        held = {(dataset.get(d, d), key) for table in ("snapsync_waiting", "snapsync_held") for d, key in connection.execute(f"SELECT dataset, key FROM {table}")}
        wanted = {(d, datasets[d].encoded(key) if isinstance(key, tuple) else key) for (d, key), e in python.state.items() if waits(e)}
        if held != wanted and not kept:
            raise Fault("(held by the command, by Python)", held - wanted, wanted - held)
        for file in glob.glob(os.path.join(glob.escape(self.db + ".snapsync-kept"), "**", "*.gz"), recursive=True):
            with gzip.open(file, "rt") as text:
                journal += text.read()
        known = set(TOKEN.findall(repr(rows) + journal + repr(self.python.journal) + repr([e for e in self.python.state.values() if isinstance(e, Row)])))
        if set(self.written) - known - self.replaced:
            raise Fault("lost, and in no journal", *sorted(set(self.written) - known - self.replaced))


def main(command, seed, count):
    failures = 0
    for number in range(seed, seed + count):
        folder, history = tempfile.mkdtemp(prefix="snapsync-writer-"), None
        try:
            history = History(number, command, folder)
            history.run()
        except Exception as error:
            failures += 1
            print(f"seed {number}: Python is {history.kind}{', and first' if history.is_first else ''}:", *(error.args if isinstance(error, Fault) else [traceback.format_exc()]), sep="\n  ")
            for step in history.steps if os.environ.get("STEPS") else ():
                print("   ", *step)
            if os.environ.get("KEEP"):
                print("  kept:", folder)
                continue
        shutil.rmtree(folder, ignore_errors=True)
        if failures >= int(os.environ.get("LIMIT", 5)):
            break
    print(f"{number - seed + 1} histories with a second writer, {failures} with a fault")
    return failures


if __name__ == "__main__":
    sys.exit(bool(main(os.path.abspath(sys.argv[1]), *(int(a) for a in (sys.argv[2:] + ["1", "20"][len(sys.argv) - 2:])))))
