"""Random histories by the built command, beside the model. Usage: command.py COMMAND [SEED] [HISTORIES]; see series.py.

Each step is made twice: by `sqlite3` and the command on real databases, with a clock that stands still, and by the model. After each sync the tables and
the held rows of the device must be the model's. At the end all devices must be equal, and what the model says is lost must be in a journal.

From seed 550,000 on, half of the histories have further rows that are so large that versions are published as changes, half have a timestamp, and half
have texts as keys.
"""
import calendar
import glob
import gzip
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
import clock
import series
from devices import Device
from histories import World
from rules import Row, Tombstone, waits
from series import Fault

MILLISECOND = 1000
BALLAST = 1_000_000     # the first key of the rows that only make tables large


class Tracked(Device):
    """A device of the model, with its database."""

    def __init__(self, name, schema, publishes):
        super().__init__(name, schema, publishes)
        self.inserted = set()       # the rows that were inserted since the last sync
        self.updated = None         # the last update since another row was written: key, clock, timestamp, instant
        self.covered = {}           # the device's own held rows in whose places rows were inserted since: the row, and its edits
        self.placed = {}            # the version's held rows in whose places rows were inserted since
        self.passed = {}            # when rows were deleted that were inserted since the last sync
        self.hidden = set()         # the version's rows whose place the device has taken and given up: the command shows them with the next version

    def write(self, key, values, clock, stamp=None, held=False):
        """As the command does it: a row that is inserted and then updated before the next sync has one instant for all of its columns."""
        if values is not None and key not in self.table:
            self.inserted.add(key)
        if values is None and any(edit.key == key and edit.inserts for _, edit in self.entries) and key in self.head.rows:
            self.hidden.add(key)
            there = self.head.rows[key]
            if waits(there):    # the held row is back, as nothing has taken its place
                self.journal -= {(key, c, v) for c, v in there.values.items()}
        if values is not None:
            self.hidden.discard(key)
        was, own = self.table.get(key), [entry for entry in self.entries if entry[1].key == key]
        if values is not None and was is None and waits(self.state.get(key)):
            self.placed.setdefault(key, self.state[key])
            if own and not any(number for number, _ in own):
                self.covered[key] = self.state[key], own
        if stamp is not None and key in self.passed:    # the log still has the deletion, which the row is later than
            stamp = max(stamp, self.passed[key] + 1)
        super().write(key, values, clock, stamp, held)
        if values is None and key not in self.state:
            self.passed[key] = clock
        if values is None and key in self.covered:      # nothing has taken the held row's place
            self.state[key], own = self.covered.pop(key)
            self.entries = [entry for entry in self.entries if entry[1].key != key] + own
            self.journal -= {(key, c, v) for c, v in self.state[key].values.items()}
            return
        entry = next((e for e in reversed(self.entries) if e[1].key == key), None)
        if values is not None and key in self.inserted and entry and entry[0] is None and len(entry[1].changed) == len(values):
            entry[1] = entry[1]._replace(changed=dict.fromkeys(values, entry[1].at))
            self.state[key] = self.state[key]._replace(instants=dict.fromkeys(values, entry[1].at))
        before, self.updated = self.updated, None if values is None or was is None else self.updated
        statement = (key, clock, stamp)
        if values is None or was is None or values == was or not entry:
            return
        # The log does not tell two updates of a row in one millisecond from one statement if nothing is written between them.
        at = max(entry[1].changed.values())
        if before and before[:3] == statement and entry[0] is None and key not in self.inserted:
            entry[1] = entry[1]._replace(changed={c: before[3] if one == at else one for c, one in entry[1].changed.items()})
            row = self.state[key]
            self.state[key] = row._replace(instants={c: before[3] if one == at else one for c, one in row.instants.items()})
            at = before[3]
        self.updated = (*statement, at)

    def settle(self):
        """A run finds out what the application has inserted in place of a held row: nothing is lost by that if the version does not hold the row any more."""
        for key, held in self.placed.items():
            there = self.head.rows.get(key)
            if not waits(there) or there.born != held.born:
                self.journal -= {(key, c, v) for c, v in held.values.items()}
        self.placed = {}

    def correct(self, clock):
        """As the command does it: an edit that is later than the clock, and than what it replaces, counts as made now."""
        for entry in self.entries:
            number, edit = entry
            there = self.head.rows.get(edit.key)
            seen = max([e.at for e in (there, *(e for n, e in self.entries if n and e.key == edit.key)) if e], default=None)
            if number or edit.at <= clock + 999 or seen is not None and edit.at <= seen + 999:
                continue
            at = clock if seen is None else max(clock, seen + 1)
            entry[1] = edit._replace(changed={c: min(one, at) for c, one in edit.changed.items()}, born=min(edit.born, at))
            row = self.state.get(edit.key)
            if isinstance(row, Row):
                self.state[edit.key] = row._replace(instants={c: min(one, at) if c in edit.changed else one for c, one in row.instants.items()}, born=min(row.born, at))
            elif row:
                self.state[edit.key] = Tombstone(at)


class History(World):
    """A history of peers, or of a writer, and of readers. The world makes the statements."""

    def __init__(self, seed, command, folder, shim):
        super().__init__(seed)
        r = self.r = random.Random(seed)
        self.command, self.folder, self.shim = command, folder, shim
        self.base = int(time.time()) * 1_000_000 - 3 * clock.HOUR
        self.free = self.limited = self.one_row = self.accidents = self.horizons = False
        groups = [{"low", "high"}]
        # What readers may edit: all, or some columns and, of one table, deletions. (One word for both: the model's `editable`, and an entry of a dataset file.)
        self.policies = {"u": (None, {"rows": True}), "t": (None, {"rows": True})}
        if r.random() < 0.4:
            self.policies = {"u": (("text",), {"patch": ["text"]}), "t": (("text", "delete"), {"patch": ["text"], "delete": True})}
        table = self.schema["u"]._replace(
            unique=(("mail",),), references=(("boss", "u"), ("pet", "t")), together=tuple(groups), orphan="orphan", editable=self.policies["u"][0])
        other = self.schema["t"]._replace(
            unique=(("code",), ("x", "y")), references=(("owner", "u"),), together=({"x", "y"},), orphan=None, editable=self.policies["t"][0])
        self.schema = {"u": table, "t": other}
        self.is_stamped = seed >= 550_000 and seed % 4 > 1
        self.has_texts = seed >= 550_000 and seed % 8 > 3
        self.ending = " WITHOUT ROWID" if seed >= 550_000 and seed % 16 > 11 else ""
        if self.is_stamped:
            self.schema = {
                name: one._replace(columns=(*one.columns, "stamp"), editable=one.editable and (*one.editable, "stamp"), timestamp="stamp")
                for name, one in self.schema.items()}
        publishers, readers = r.choice([(2, 0), (3, 0), (2, 1), (1, 1), (1, 2)])
        self.devices = [Tracked(f"{'p' if n < publishers else 'r'}{n}", self.schema, n < publishers) for n in range(publishers + readers)]
        self.publishers, self.readers, self.strict = self.devices[:publishers], self.devices[publishers:], set()
        skews = r.choice([[0], [0, 0, clock.HOUR, -clock.HOUR]])
        self.skew, self.coarse, self.now = {d.name: r.choice(skews) for d in self.devices}, 1, 2 * clock.HOUR
        self.statements, self.steps, self.is_large = [], [], seed >= 550_000 and seed % 2 == 1

    # SQL

    def column(self, name):
        return {"orphan": "isOrphan", "stamp": "updatedAt"}.get(name, name)

    def value(self, table, column, device, key):
        if column != "stamp":
            return super().value(table, column, device, key)
        at = self.base + self.clock(device.name) - self.r.choice([0, 0, 0, self.r.randint(0, 3000)])
        return self.r.choice([time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at // 10 ** 6)) + f".{at % 10 ** 6:06}Z"] * 9 + [None])

    def fill(self, table, device, key, row, columns):
        stamps = self.is_stamped and "stamp" not in columns and self.r.random() < 0.6
        return super().fill(table, device, key, row, [*columns, "stamp"] if stamps else columns)

    def tables(self):
        for name, table in self.schema.items():
            kind = "TEXT" if self.has_texts else "INTEGER"
            types = {"orphan": " BOOLEAN", "stamp": " TEXT"} | {c: " " + kind for c, _ in table.references if self.has_texts}
            columns = [self.column(c) + types.get(c, "") for c in table.columns]
            checks = ["CHECK(low <= high)"] if name == "u" else []
            unique = [f"UNIQUE({', '.join(u)})" for u in table.unique]
            references = [f"FOREIGN KEY({c}) REFERENCES {parent}(id)" for c, parent in table.references]
            yield f"CREATE TABLE {name}({', '.join([f'id {kind} PRIMARY KEY NOT NULL', *columns, *checks, *unique, *references])}){self.ending}"

    def dataset_file(self):
        """The name of the file that describes the tables: as the command does, with what readers may edit."""
        name = "datasets.json"
        if not os.path.exists(os.path.join(self.folder, name)):
            datasets = json.loads(self.run_command("tables", "describe", self.devices[0].name + ".db", "--tables", "u,t"))
            for one in datasets["datasets"]:
                one["messages"] = self.policies[one["name"]][1]
            with open(os.path.join(self.folder, name), "w") as file:
                json.dump(datasets, file)
        return name

    def clock(self, name):
        return self.now + self.skew[name]

    def environment(self, name):
        return {k: v for k, v in os.environ.items() if not k.startswith("SNAPSYNC")} | {
            "LD_PRELOAD": self.shim, "ORACLE_CLOCK": str(self.base + self.clock(name)), "HOME": self.folder}

    def sql(self, device, text):
        done = subprocess.run(["sqlite3", "-bail", device.name + ".db"], cwd=self.folder, env=self.environment(device.name), input=text, capture_output=True, text=True)
        if done.returncode:
            raise Fault("the application's statement failed", done.stderr, text)

    def run_command(self, *arguments, codes=(0,)):
        name = next(word for word in arguments if word.endswith(".db")).removesuffix(".db")
        done = subprocess.run([self.command, *arguments], cwd=self.folder, env=self.environment(name), capture_output=True, text=True)
        if done.returncode not in codes:
            raise Fault("the command failed", arguments, done.returncode, done.stderr)
        return done.stdout

    def rows(self, device):
        connection = sqlite3.connect(os.path.join(self.folder, device.name + ".db"))
        found = {}
        for name, table in self.schema.items():
            columns = [self.column(c) for c in table.columns]
            numbers = {c for c, _ in table.references}      # SQLite has turned the numbers that are keys into texts
            for key, *values in connection.execute(f"SELECT id, {', '.join(columns)} FROM {name}"):
                found[name, int(key)] = {c: int(v) if c in numbers and v is not None else v for c, v in zip(table.columns, values)}
        held = set()
        for table in ("snapsync_waiting", "snapsync_held"):
            if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (table,)).fetchone():
                names = dict(connection.execute("SELECT id, dataset FROM snapsync_tracking"))
                held |= {(names.get(dataset, dataset), int(key)) for dataset, key in connection.execute(f"SELECT dataset, key FROM {table}")}
            found = {key: row for key, row in found.items() if key[1] < BALLAST}
        connection.close()
        return found, held - set(found)     # what the application has inserted in its place is shown, and the version still holds the other row

    # Steps

    def transaction(self, device):
        self.statements, before = [], dict(device.table)
        super().transaction(device)
        lines, rows = [], dict(before)
        for key, row in self.statements:
            name = key[0]
            if row is None:
                lines.append(f"DELETE FROM {name} WHERE id = {key[1]}")
                rows.pop(key, None)
            elif key in rows:
                changed = [c for c in row if row[c] != rows[key][c]] or list(row)[:1]
                lines.append(f"UPDATE {name} SET {', '.join(f'{self.column(c)} = {literal(row[c])}' for c in changed)} WHERE id = {key[1]}")
                rows[key] = row
            else:
                columns = ", ".join(["id", *map(self.column, row)])
                lines.append(f"INSERT INTO {name}({columns}) VALUES({', '.join([str(key[1]), *map(literal, row.values())])})")
                rows[key] = row
        if lines:
            self.steps.append((self.now, device.name, lines))
            self.sql(device, ";\n".join(["BEGIN IMMEDIATE", *lines, "COMMIT;"]))
            self.compare(device, "after statements")

    def write(self, device, key, row, held=False):
        text, before = (row or {}).get("stamp"), device.table.get(key) or {}
        stamp = None
        if text and text != before.get("stamp"):
            stamp = calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) * 10 ** 6 + int(text[20:26]) - self.base
        device.write(key, dict(row) if row is not None else None, self.clock(device.name), stamp)
        self.statements.append((key, row))

    def sync(self, device, reliable=False):
        if not self.log and device is not self.devices[0]:
            return
        self.steps.append((self.now, device.name, "sync"))
        self.run_command("sync", device.name + ".db", "--quiet")
        if device.version < len(self.log):
            device.take_in(self.log, len(self.log))
            device.hidden = set()
            device.settle()
            if device.publishes:    # the import has consolidated the log, so that the export sees them
                device.correct(self.clock(device.name))
        elif device.version:
            head, was = device.head, device.state
            device.take_in([*self.log[:-1], head._replace(rows={k: e for k, e in head.rows.items() if k not in device.hidden})], device.version)
            device.head, device.state = head, {**device.state, **{k: was[k] for k in device.hidden}}
        if device.publishes:
            device.publish(self.log, self.mail, self.clock(device.name))
        else:
            self.mail[device.name] = device.hand_over(self.clock(device.name))
        device.inserted, device.covered, device.passed = set(), {}, {}
        self.compare(device, "after a sync")

    def compare(self, device, when):
        rows, held = self.rows(device)
        wanted = {key: row for key, row in device.table.items() if key not in device.hidden or key in rows}
        if rows != wanted:
            differing = [(k, rows.get(k), wanted.get(k)) for k in sorted({**rows, **wanted}) if rows.get(k) != wanted.get(k)]
            raise Fault(when, device.name, "(key, the table's, the model's)", *differing)
        waiting = {k for k, e in device.state.items() if waits(e)}
        if held != waiting and when == "after a sync":     # a run finds out what the application has inserted in place of a held row
            raise Fault(when, device.name, "held", held, "the model holds", waiting)

    def run(self):
        for device in self.devices:
            self.sql(device, ";\n".join([*self.tables(), ""]))
        first = self.devices[0]
        for table in self.schema if self.is_large else []:
            self.sql(first, f"INSERT INTO {table}(id, text) SELECT {BALLAST} + value, hex(randomblob(40000)) FROM generate_series(1, 30);")
        self.run_command(
            "init", first.name + ".db", "cloud", *(["--peers"] if len(self.publishers) > 1 else []), "--name", first.name,
            "--datasets", self.dataset_file(), "--shared-keys")
        for _ in range(self.r.randint(1, 3)):
            self.transaction(first)
        self.sync(first)
        while not self.log:     # a first import has a rule of its own (docs/merging.md)
            self.now += MILLISECOND
            self.transaction(first)
            self.sync(first)
        for device in self.devices[1:]:
            self.now += MILLISECOND
            self.run_command("join", device.name + ".db", "cloud", "--name", device.name,
                "--datasets", self.dataset_file(), *(["--peer", "--shared-keys"] if device.publishes else []))
            self.sync(device)
        for _ in range(self.r.randint(5, 25)):
            self.now += self.r.choice([1, 10, 100]) * MILLISECOND
            device = self.r.choice(self.devices)
            if self.r.random() < 0.6:
                self.transaction(device)
            else:
                self.sync(device)
        for _ in range(4):
            for device in self.devices:
                self.now += MILLISECOND
                self.sync(device)
        final = self.log[-1].rows if self.log else {}
        journals = ""
        for device in self.devices:
            own = {edit.key for _, edit in device.entries}      # what a reader may not hand over
            if any(device.state.get(k) != final.get(k) for k in {**device.state, **final}) and not own:
                raise Fault("the model's devices differ")
            connection = sqlite3.connect(os.path.join(self.folder, device.name + ".db"))
            for table, column in (("snapsync_conflicts", "loser"), ("snapsync_waiting", "entity")):     # what is held is not lost
                if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (table,)).fetchone():
                    journals += "\n".join(repr(row) for row in connection.execute(f"SELECT {column} FROM {table}"))
            connection.close()
            # The rows that a first import has replaced are in files.
            for file in glob.glob(os.path.join(glob.escape(self.folder), device.name + ".db.snapsync-kept", "*.gz")):
                with gzip.open(file, "rt") as text:
                    journals += text.read()
        for device in self.devices:
            kept = {edit.key for _, edit in device.entries}     # what these replace is lost on this device alone
            for key, column, value in device.journal:
                # What a reader's own edit has hidden on this reader is in a version.
                has_returned = any(
                    getattr(version.get(key), "values", {}).get(column) == value for version in ([final] if device.publishes else [c.rows for c in self.log]))
                if column in ("text", "note") and key not in kept and not has_returned and f'"{value}"' not in journals:
                    raise Fault("lost, and in no journal", device.name, key, column, value)


def literal(value):
    return "NULL" if value is None else str(value) if isinstance(value, int) else "'" + value + "'"


if __name__ == "__main__":
    command, seeds = series.arguments()
    with tempfile.TemporaryDirectory() as folder:
        shim = clock.build(folder)
        sys.exit(series.run(lambda number, folder: History(number, command, folder, shim), seeds, "histories by the command", "differ from the model"))
