"""Random histories of two devices: one is the command, the other one writer.py. Usage: random_histories.py COMMAND [SEED] [HISTORIES]

They are two peers, or a writer and a reader of either kind; see Tests/Model/series.py. A seed makes the same steps again, unless both sync at once or a value
depends on the clock.
"""
import collections
import glob
import gzip
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import time

from writer import EARLIEST, Dataset, Participant, Zone, canonical
from rules import Row, waits
import series
from series import Fault

TOKEN = re.compile(r"#\d+#")
ODD = ["", "é\u0301 ", "\"\\/\b\f\n\r\t\x01\x7f", "\U0001f680\u2028", "1", "null"]
VALUES = [0, -1, 2**63 - 1, -2**63, 0.5, -1e-5, 1.7976931348623157e308, float("-inf"), "", "1.5", b"", b"\0\xff", None]


def described(name, columns, primary, unique=(), references=(), on_delete="noAction", **more):
    """A description of a table. `columns`: the names with the declared types, with ! behind it for NOT NULL."""
    declared = [(c, kind.rstrip("!"), "!" in kind) for c, kind in columns.items()]
    return {
        "formatVersion": 1,
        "dataset": {"name": name, "table": name, "key": primary[0] if len(primary) == 1 else primary, "columns": [{"name": c} for c, _, _ in declared],
                    "recordName": name + "_data", "recordType": name.capitalize() + "Data", **more},
        "structure": {
            "autoincrement": False, "columns": [{"collation": "binary", "column": c, "declared": kind, "notNull": required} for c, kind, required in declared],
            "primaryKey": primary, "strict": False, "withoutRowid": len(primary) > 1,
            "unique": [{"columns": list(u), "collations": ["binary"] * len(u)} for u in unique],
            "references": [{"columns": [c], "onDelete": on_delete, "onUpdate": "noAction", "parent": parent, "parentColumns": ["id"]}
                           for c, parent in references]}}


def tables(lots, readers_edit):
    """Three tables: a text key and a UNIQUE column, an integer key with a reference and a timestamp, and a key of two columns."""
    def messages(*patch):
        policy = lots.choice([{"rows": True}, {"rows": True}, {"patch": list(patch), "delete": lots.random() < 0.5}])
        return {"messages": policy} if readers_edit else {}

    together = lots.choice([{}, {}, {"together": "row"}, {"together": [["title", "note"]]}])
    people = described("people", {"id": "text!", "name": "text", "mail": "text", "isOrphan": "boolean"}, ["id"], [("mail",)], **messages("name", "mail"))
    tasks = described("tasks", {"id": "integer", "title": "text", "note": "untyped", "owner": "text", "updated_at": "text"}, ["id"], [], [("owner", "people")],
                      lots.choice(["noAction", "setNull", "cascade"]), timestamp="updated_at", **together, **messages("note"))
    pairs = described("pairs", {"a": "text!", "b": "untyped!", "x": "integer", "y": "integer", "value": "untyped"}, ["a", "b"], [("x", "y")],
                      **messages("x", "value"))
    return [Dataset(canonical(one).decode()) for one in (people, tasks, pairs)]


class History:
    def __init__(self, seed, command, folder):
        self.lots, self.command, self.folder, self.steps, self.count = random.Random(seed), command, folder, [], 0
        self.seed, self.location, self.db = seed, os.path.join(folder, "cloud"), os.path.join(folder, "cmd.db")
        self.kind = ["peers", "writer", "peers", "reader"][seed % 4]          # what the Python program is
        self.is_first = self.kind == "writer" or self.kind == "peers" and self.lots.random() < 0.5
        self.datasets = tables(self.lots, self.kind != "peers")
        self.offset = self.lots.choice([0, 0, 0, 3600, -3600]) * 1_000_000      # of Python's clock
        self.bulk = 300 if self.lots.random() < 0.1 else 0      # so many rows that the command writes change assets
        self.fill = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
                     " INSERT INTO people(id, name) SELECT 'q' || i, hex(randomblob(4000)) FROM n", [self.bulk])
        self.written, self.replaced, self.seen = {}, set(), set()      # texts. `seen`: replaced on the device that had not written them
        # The columns of rows in which a text was, how often a row was inserted and deleted, and which columns each device changed.
        self.cells, self.inserted, self.deleted, self.touched = {}, collections.Counter(), collections.Counter(), {True: set(), False: set()}

    # The two devices

    def environment(self):
        return {k: v for k, v in os.environ.items() if not k.startswith("SNAPSYNC")} | {"HOME": self.folder}

    def run_command(self, *arguments):
        done = subprocess.run([self.command, *arguments], cwd=self.folder, env=self.environment(), capture_output=True, text=True)
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

    def sync_both(self):
        """Both at once: either may lose the race."""
        self.steps.append(("both", "sync"))
        with subprocess.Popen([self.command, "sync", "cmd.db", "--quiet"], cwd=self.folder, env=self.environment(), stderr=subprocess.PIPE) as other:
            time.sleep(self.lots.random() * 0.1)
            self.python.sync()
            errors = other.communicate()[1]
        if other.returncode:
            raise Fault("the command failed", "sync", other.returncode, errors)

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
        if dataset.name == "people":
            return [f"q{r.randint(1, self.bulk)}" if self.bulk and r.random() < 0.5 else f"p{r.randint(1, 5)}"]
        return [r.randint(1, 5)] if dataset.name == "tasks" else [r.choice("ab"), r.choice([1, 2.5, "x", b"\0"])]

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
        for key in {**rows, **after}:
            old, new = rows.get(key) or {}, after.get(key) or {}
            changed = [c for c in {**old, **new} if old.get(c) != new.get(c) or not old or not new]
            self.touched[is_python] |= {(*key, c) for c in changed}
            self.inserted[key] += not old
            self.deleted[key] += not new
            for c in changed:
                for token in TOKEN.findall(repr(new.get(c))):
                    self.cells.setdefault(token, set()).add((is_python, (*key, c)))
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
        roles = ["--peers"] if self.kind == "peers" else []
        self.run_command("init", "cmd.db", "cloud", "--name", "cmd", "--datasets", "datasets.json", "--shared-keys", *roles)
        for _ in range(r.choice([1, 5])):
            self.statement(False)
        self.sync_command()
        self.python = Participant("python", self.location, "peer" if self.kind == "peers" else "reader", r, offset=self.offset)
        self.sync_python()

    def run(self):
        r = self.lots
        self.set_up()
        self.tables = self.python.datasets
        for _ in range(r.choice([5, 10, 20, 40, 80])):
            chance = r.random()
            if chance < 0.6:
                self.statement()
            elif chance < 0.65:
                self.sync_both()
            elif chance < 0.82:
                self.sync_command()
            else:
                self.sync_python(race=self.kind == "peers" and r.random() < 0.2)
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
        self.run_command("check", "cloud", "--all-versions")
        zone, files = Zone(self.location), self.python.files
        for version in map(zone.version, zone.history.list()):
            for table in map(version.table, version.tables()):
                list(table.rows()), table.held()
        for file in files.list("checkpoints"):
            with open(os.path.join(files.folder, "checkpoints", file), "rb") as stream:
                if stream.read() != files.checkpoint(zone.history, int(file[:20])):
                    raise Fault("a checkpoint has other bytes than Python would write", file)
        connection = sqlite3.connect(self.db)
        self.judge_rows(connection)
        self.judge_instants(connection)
        self.judge_losses(connection)
        connection.close()

    def judge_rows(self, connection):
        """Every edit is decided, and the tables and the held rows are equal. What readers may not edit differs, on this reader alone."""
        pending, python, own, found = json.loads(self.run_command("pending", "cmd.db", "--json")), self.python, self.python.rows(), self.command_rows()
        if any(pending[n] for n in ("waiting", "setAside", "sent")) or python.handed_over() or python.publishes and python.entries:
            raise Fault("edits that were not decided", pending, *python.entries)
        kept = {edit.key for _, edit in python.entries}
        for e in pending["kept"]:
            kept.add((e["dataset"], self.tables[e["dataset"]].key_of(e["entityId"] if e["dataset"] == "people" else json.loads(e["entityId"]))))
        kept |= {k for k, e in python.head.rows.items() if kept and waits(e)}       # they may fit beside these
        differing = [(k, found.get(k), own.get(k)) for k in {**found, **own} if found.get(k) != own.get(k) and k not in kept]
        if differing:
            raise Fault("(key, the command's row, Python's)", *differing)
        held = {one for table in ("snapsync_waiting", "snapsync_held") for one in self.keys(connection, f"SELECT dataset, key FROM {table}")}
        wanted = {self.stored(k) for k, e in python.state.items() if waits(e)}
        if held != wanted and not any("patch" in d.own_body.get("messages", {}) for d in self.datasets):
            raise Fault("held by the command, by Python", held - wanted, wanted - held)

    def judge_instants(self, connection):
        """The command has read the same instants, insertions and deletions of the version as Python."""
        stored = {}
        for one, (at, rest, born, columns) in self.keys(connection, "SELECT dataset, key, at, rest, born, columns FROM snapsync_instants", True):
            stored[one] = json.loads(columns) if columns else {}, at if columns is None else rest, born
        gone = {one: at for one, (at,) in self.keys(connection, "SELECT dataset, key, at FROM snapsync_tombstones", True)}
        for key, entry in self.python.head.rows.items():
            if not isinstance(entry, Row):
                found, wanted = gone.pop(self.stored(key), None), entry.at
                stored.pop(self.stored(key), None)      # of a reader's edit that may not restore the row
            else:
                stamp = self.tables[key[0]].timestamp(entry.values, 1 << 62)
                columns, rest, born = stored.pop(self.stored(key), ({}, stamp, stamp))
                found = {c: max(columns.get(c, rest), EARLIEST) for c in entry.values}, max(rest if born is None else born, EARLIEST)
                wanted = entry.instants, entry.born
            if found != wanted:
                raise Fault("instants of the version, as the command and as Python has read them", key, found, wanted)
        if stored or gone:
            raise Fault("instants of the command without a row in the version", stored, gone)

    def judge_losses(self, connection):
        """Each value that a statement wrote is in a table, was replaced where it was seen, or is recorded as lost, with a reason for that."""
        python, names = self.python, {n for n, in connection.execute("SELECT name FROM sqlite_schema")}
        kept, journal, lost = repr([e for e in python.state.values() if isinstance(e, Row)] + [self.command_rows()]), repr(python.journal), repr(python.journal)
        for table in ("snapsync_waiting", "snapsync_held"):
            kept += "".join(str(e) for e, in connection.execute(f"SELECT entity FROM {table}"))
        conflicts = connection.execute("SELECT loser, columns FROM snapsync_conflicts WHERE loser IS NOT NULL") if "snapsync_conflicts" in names else ()
        for loser, columns in conflicts:
            journal += loser
            lost += repr([json.loads(loser).get(c) for c in json.loads(columns)]) if columns else ""
        for file in glob.glob(os.path.join(glob.escape(self.db + ".snapsync-kept"), "**", "*.gz"), recursive=True):
            with gzip.open(file, "rt") as text:
                journal += text.read()
        missing = set(self.written) - self.replaced - set(TOKEN.findall(kept))
        if missing - set(TOKEN.findall(journal)):
            raise Fault("lost, and in no journal", *missing - set(TOKEN.findall(journal)))
        # A device may have inserted its own row again while that was held, or deleted a row again that had been restored.
        again = {t for t, cells in self.cells.items() if any(max(self.inserted[cell[:2]], self.deleted[cell[:2]]) > 1 for _, cell in cells)}
        alone = {t for t in missing - again if not any(self.group(cell) & self.touched[not author] for author, cell in self.cells[t])}
        if alone:
            raise Fault("lost, although only its author edited the column", *alone)
        known = (self.seen - again) & set(TOKEN.findall(lost))
        if known and not any("together" in d.own_body for d in self.datasets):
            raise Fault("recorded as lost, although the device that replaced it had seen it", *known)

    def keys(self, connection, sql, more=False):
        """Rows of a table of the command: the key as it stores it, and with `more` the other columns."""
        names = dict(connection.execute("SELECT id, dataset FROM snapsync_tracking"))
        for dataset, key, *rest in connection.execute(sql):
            yield ((names.get(dataset, dataset), key), rest) if more else (names.get(dataset, dataset), key)

    def stored(self, key):
        """A key as the tables of the command have it."""
        return key[0], self.tables[key[0]].encoded(key[1]) if isinstance(key[1], tuple) else key[1]

    def group(self, cell):
        table, key, column = cell
        return {(table, key, c) for c in self.tables[table].table.group({column})}


if __name__ == "__main__":
    command, seeds = series.arguments()
    sys.exit(series.run(lambda number, folder: History(number, command, folder), seeds, "histories with a second writer", "with a fault"))
