"""Random histories of devices against the rules. Usage: histories.py [first seed] [histories]; prints the seed of each history that breaks a property.

The world knows who overwrote which value with having seen it, so that it can tell at the end that nothing else disappeared:

    convergence     all devices, and a new one, show the same rows
    journal         each value that nobody who saw it has overwritten is in a table, held, or in a journal
    constraints     UNIQUE, references and CHECK hold in each table after each run
    stability       an import of the same version changes nothing; unanswered edits stay visible until something later comes in
    exactly once    no answer is taken back, and an import twice is as one
    indexes         IndexedView gives the same as FullView
"""
import copy
import random
import sys
import traceback
from devices import EMPTY, Device, Stricter
from indexed import IndexedView
from rules import FullView, Row, Table, Tombstone, consolidated, rebase, seen, shown, waits


class Broken(Exception):
    pass


def expect(condition, *what):
    if not condition:
        raise Broken(*what)


class Checked(Device):
    """A device that computes each import a second time, from the keys that changed, and compares."""
    view = None

    def rebase(self, commit, edits, had):
        result = super().rebase(commit, edits, had)
        if not self.view:
            self.view, self.viewed = IndexedView(self.schema), {}
        changes = {k: commit.rows.get(k) for k in {**self.viewed, **commit.rows} if self.viewed.get(k) != commit.rows.get(k)}
        self.view.advance(changes)
        expect(rebase(self.view, edits, commit.horizon, had, self.restores, self.publishes) == result, "with indexes: other edits")
        expect(self.view.rows == self.state, "with indexes: other rows", *difference(self.view.rows, self.state))
        self.viewed = commit.rows
        return result


def difference(one, two):
    return [(k, one.get(k), two.get(k)) for k in {**one, **two} if one.get(k) != two.get(k)]


class World:
    def __init__(self, seed):
        r = self.r = random.Random(seed)
        self.deletion, self.enforced = r.choice(["cascade", "restrict", "null"]), r.random() < 0.8
        groups = [{"low", "high"}] + ([{"text", "note"}] if r.random() < 0.3 else [])
        if r.random() < 0.1:
            groups = [{"text", "note", "mail", "boss", "pet", "low", "high", "orphan"}]
        self.limited = r.random() < 0.15
        self.schema = {
            "u": Table(("text", "note", "mail", "boss", "pet", "low", "high", "orphan"), (("mail",),), (("boss", "u"), ("pet", "t")), tuple(groups),
                       "orphan", ("text", "insert") if self.limited else None),
            "t": Table(("text", "owner", "code", "x", "y"), (("code",), ("x", "y")), (("owner", "u"),), ({"x", "y"},), None,
                       ("text", "owner", "x", "y", "delete") if self.limited else None)}
        self.free = r.random() < 0.2            # without constraints more can be expected of the result
        if self.free:
            self.schema = {name: table._replace(unique=(), references=(), orphan=None) for name, table in self.schema.items()}
        self.one_row = self.free and not self.limited and r.random() < 0.5  # a row that all devices have, and that is only updated
        publishers = r.randint(2, 3) if r.random() < 0.6 else 1
        readers = r.randint(0, 2) if publishers > 1 else r.randint(1, 3)
        slots = r.choice([[1] * 5, r.sample(range(1, 1000), 5)])
        self.devices = [Checked(f"{'p' if i < publishers else 'r'}{i}", self.schema, i < publishers, slots[i]) for i in range(publishers + readers)]
        self.publishers, self.readers = self.devices[:publishers], self.devices[publishers:]
        if r.random() < 0.1:
            r.choice(self.devices).stricter = {"u": Stricter(required=("mail",)), "t": Stricter(unique=(("x",),))}
        self.strict = {d.name for d in self.devices if d.stricter}
        self.skew = {d.name: r.choice([0, 0, 0, r.randint(-5000, 5000), r.randint(-50, 50)]) for d in self.devices}
        self.coarse, self.accidents, self.horizons = r.choice([1, 1, 1, 100, 1000]), r.random() < 0.3, r.random() < 0.1
        self.log, self.mail, self.now, self.token = [], {}, 10_000, 0
        self.backups, self.gone = {}, {}
        self.written, self.over, self.lost, self.at = set(), {}, set(), {}
        self.inserted, self.again, self.repeated, self.ties, self.instants, self.lineage, self.updated = {}, set(), set(), set(), {}, {}, set()
        self.steps = []

    # The application: transactions of statements on a device's table, with SQLite's constraints.

    def value(self, table, column, device, key):
        r = self.r
        if column in ("text", "note"):
            self.token += 1
            return f"{device.name}.{self.token}"
        if column in ("mail", "code"):
            return r.choice([None, 1, 2, 3])
        if column in ("x", "y"):
            return r.choice([None, 1, 2])
        if column == "orphan":
            return 0
        parent = dict(self.schema[table].references).get(column)
        if self.free:
            return r.choice([None, 1, 2, 3])
        keys = [k[1] for k in device.table if k[0] == parent] or [None]
        return r.choice(keys + [None] + ([r.randint(1, 5)] if not self.enforced else []))

    def fill(self, table, device, key, row, columns):
        for c in columns:
            if c not in ("low", "high"):
                row[c] = self.value(table, c, device, key)
        if "low" in columns and "high" in columns:
            row["low"], row["high"] = sorted((self.r.randint(0, 9), self.r.randint(0, 9)))
        elif "low" in columns:
            row["low"] = self.r.randint(0, row["high"])
        elif "high" in columns:
            row["high"] = self.r.randint(row["low"], 9)
        return row

    def transaction(self, device):
        r, work, log = self.r, dict(device.table), []

        def put(key, row, replaces):
            own = device.stricter.get(key[0], Stricter())
            if any(row[c] is None for c in own.required):
                return
            for columns in self.schema[key[0]].unique + own.unique:
                value = [row[c] for c in columns]
                for k in [k for k, o in work.items() if k != key and k[0] == key[0] and None not in value and [o[c] for c in columns] == value]:
                    if not replaces:
                        return
                    remove(k, True)
            work[key] = row
            log.append((key, row))

        def remove(key, replaced=False):
            work.pop(key)
            log.append((key, None))
            if replaced or not self.enforced:
                return
            for k, o in list(work.items()):
                for c, parent in self.schema[k[0]].references:
                    if parent == key[0] and k in work and work[k][c] == key[1]:
                        if self.deletion == "cascade":
                            remove(k)
                        elif self.deletion == "null":
                            work[k] = {**work[k], c: None}
                            log.append((k, work[k]))

        for _ in range(r.choice([1, 1, 1, 2, 3])):
            table = "u" if self.one_row else r.choice("ut")
            keys, description = sorted(k for k in work if k[0] == table), self.schema[table]
            kind = r.random() if not self.one_row else 0.5
            if kind < 0.35 or not keys:
                key = (table, r.randint(1, 5) if not self.one_row else 1)
                if key not in work or r.random() < 0.2:
                    put(key, self.fill(table, device, key, {}, description.columns), r.random() < 0.3)
            elif kind < 0.7:
                key = r.choice(keys)
                put(key, self.fill(table, device, key, dict(work[key]), r.sample(description.columns, r.choice([1, 1, 2]))), False)
            elif kind < 0.85:
                remove(r.choice(keys))
            elif kind < 0.92 and len(keys) > 1 and not self.free and not device.stricter:   # two rows exchange their UNIQUE values
                a, b = r.sample(keys, 2)
                c = description.unique[0][0]
                log.append((b, {**work[b], c: None}))
                work[a], work[b] = {**work[a], c: work[b][c]}, {**work[b], c: work[a][c]}
                log += [(a, work[a]), (b, work[b])]
            elif kind < 0.96:                       # DELETE of all, INSERT of all
                rows = {k: work[k] for k in keys}
                log += [(k, None) for k in keys] + list(rows.items())
            else:
                put(keys[0], dict(work[keys[0]]), False)    # the values that the row has
        dangling, earlier = ({(k, p, o[c]) for k, o in rows.items() for c, p in self.schema[k[0]].references if o[c] is not None and (p, o[c]) not in rows}
                             for rows in (work, device.table))
        if not self.enforced or not dangling - earlier:     # else the transaction fails
            for key, row in log:
                self.write(device, key, row)
            expect(device.table == work, "the table is not the application's")

    def write(self, device, key, row, held=False):
        before = device.state[key].values if held else device.table.get(key)
        clock = (self.now + self.skew[device.name]) // self.coarse * self.coarse
        stamp = self.r.choice([None] * 4 + [clock - self.r.randint(0, 3000), clock + 10 ** 9])
        if row is not None and before is None:
            self.inserted[key] = self.inserted.get(key, 0) + 1
        for c, v in (row or before).items():
            value = (key, c, v)
            if row is not None and before is None and value in self.written:
                self.again.add(key)
            if row is not None and value in self.written and (before is None or before[c] != v):
                self.repeated.add(value)
            if row is None:
                self.over.setdefault(value, []).append(None)
            elif before is None:
                self.written.add(value)
            elif v != before[c]:
                self.written.add(value)
                self.over.setdefault((key, c, before[c]), []).append(value)
        device.write(key, dict(row) if row is not None else None, clock, stamp, held)
        entry, last = device.state.get(key), device.entries[-1][1] if device.entries and device.entries[-1][1].key == key else None
        for c in row or ():
            self.at.setdefault((key, c, row[c]), last.at if last else 0)
            self.lineage.setdefault((key, c, row[c]), set()).update({entry.born} | {e.born for _, e in device.entries if e.key == key})
        if row is not None and before is not None:
            self.updated.add(key)
        there = device.head.rows.get(key)
        known = set(there.instants.values()) if isinstance(there, Row) else {seen(there)}
        for at in set(entry.instants.values()) if isinstance(entry, Row) else {seen(entry)} - {None}:
            if self.instants.setdefault((key, at), device.name) != device.name and at not in known:
                self.ties.add(key)                  # two devices made one instant
        self.steps.append(("write", device.name, key, row, clock, stamp))

    # The runs.

    def take_in(self, device, version):
        self.steps.append(("import", device.name, version))
        before, edits, had = device.table, [e for _, e in device.entries], device.state
        own, same, commit = [[n, e] for n, e in device.entries], version == device.version, self.log[version - 1]
        device.take_in(self.log, version)
        waiting = not self.enforced and any(waits(e) for e in commit.rows.values())
        # A row that was inserted and deleted here leaves the row that the version has under its key.
        last = {e.key: e for e in edits}
        returns = any(isinstance(e, Row) and k not in before and not waits(had.get(k)) and (k not in last or last[k].values is None and last[k].born != e.born)
                      for k, e in commit.rows.items())
        pending = {e.key for n, e in own if n}      # a value that did not fit returns like a held row, until the answer
        if same and not waiting and not device.stricter and not returns:    # what SQLite has accepted stays, and only held rows return
            for key, row in before.items():
                expect(key in pending or waits(commit.rows.get(key)) or device.table.get(key) == row, "the same version changed", key, row, device.table.get(key))
            for key in device.table:
                expect(key in before or key in pending or waits(had.get(key)), "the same version brought", key)
        elif not same:
            for edit in consolidated(e for n, e in own if n and n > commit.answered.get(device.name, 0)):
                there, entry = commit.rows.get(edit.key), device.state.get(edit.key)
                for c, at in edit.changed.items() if edit.values else ():
                    kept = device.table.get(edit.key, {}).get(c) == edit.values[c]
                    newer = there and (there.at if isinstance(there, Tombstone) or edit.born != there.born or edit.inserts else there.instants[c]) >= at
                    lost = waits(entry) or edit.key in device.apart or any(x[0] == edit.key for x in self.lost | device.journal)
                    later = any(e.key == edit.key and (e.at > edit.at or e.changed.get(c, 0) > at or e.born != edit.born) for e in edits)
                    expect(kept or newer or lost or later or self.horizons or self.misfits(device, edit, c), "flickers", edit, c, device.table.get(edit.key), there)
        state, left = device.state, [(n, e._replace(loose=False, held=False)) for n, e in device.entries]
        device.take_in(self.log, version)
        expect(device.state == state, "an import twice is not as one", *difference(state, device.state))
        expect(left == [(n, e._replace(loose=False, held=False)) for n, e in device.entries], "an import twice leaves other edits", left, device.entries)
        self.check_rows(device.state, device)

    def misfits(self, device, edit, column):
        """Whether a value gave way: it does not fit beside the other rows, or its row went with another value (rule 4)."""
        entry = device.state.get(edit.key)
        if not isinstance(entry, Row):
            return False
        columns = set(edit.values) if edit.inserts else self.schema[edit.key[0]].group({column})
        view = FullView(self.schema, {**device.state, edit.key: entry._replace(values={**entry.values, **{c: edit.values[c] for c in columns}})})
        return any(view.rivals(edit.key)) or any(view.missing(edit.key))

    def check_rows(self, rows, device=None):
        view = FullView(self.schema, rows)
        for key, row in rows.items():
            if shown(row):
                expect(not any(view.rivals(key)), "UNIQUE", key)
                expect(not self.enforced or not any(view.missing(key)), "reference", key, row)
                expect(key[0] != "u" or row.values["low"] <= row.values["high"], "CHECK", row)
        view.release()
        expect(view.rows == rows, "a held row fits", *difference(view.rows, rows))
        if device and device.stricter:
            mine = FullView(self.schema, {k: e for k, e in rows.items() if device.shows(k)})
            for key, row in mine.rows.items():
                own = device.stricter[key[0]]
                expect(all(row.values[c] is not None for c in own.required), "own NOT NULL", key)
                expect(not any(row.values[c] is not None and row.values[c] == o.values[c] for (c,) in own.unique for k, o in mine.rows.items() if k != key and k[0] == key[0]), "own UNIQUE", key)
                expect(not self.enforced or not any(mine.missing(key)), "own reference", key)

    def messages(self, reliable):
        result = {}
        for name, files in self.mail.items():
            found = files if reliable else [f for f in files if self.r.random() < 0.6]
            result[name] = [m for f in self.r.sample(found, len(found)) for m in f]
        return result

    def sync(self, device, reliable=False):
        r, clock = self.r, self.now + self.skew[device.name]
        if device.name in self.gone and not self.accept(device):
            return
        if device.version < len(self.log):
            self.take_in(device, len(self.log) if reliable or r.random() < 0.7 else r.randint(device.version + 1, len(self.log)))
        elif device.version:
            self.take_in(device, device.version)
        if device in self.readers:
            message = device.hand_over(clock)
            if message and (reliable or r.random() < 0.8):
                self.mail.setdefault(device.name, []).append(message)
            return
        if not self.log and device is not self.publishers[0] and not reliable:
            return
        horizon = self.now - r.randint(0, 2000) if self.horizons and r.random() < 0.3 and not reliable else None
        crash = r.choice(["before", "after"]) if not reliable and r.random() < 0.15 else None
        if not reliable and len(self.publishers) > 1 and self.accidents and device.version == len(self.log) and r.random() < 0.1:
            private = list(self.log)        # a version that is gone: the other devices do not see it
            if device.publish(private, self.messages(False), clock) and len(private) > len(self.log):
                self.steps.append(("gone", device.name, len(private)))
                self.gone[device.name] = (len(self.log), private)
            return
        count = len(self.log)
        if device.publish(self.log, self.messages(reliable), clock, horizon, crash) and len(self.log) > count:
            self.steps.append(("publish", device.name, len(self.log), self.log[-1].answered, crash))
            commit, earlier = self.log[-1], self.log[-2] if count else EMPTY
            self.check_rows(commit.rows)
            for sender, number in earlier.answered.items():
                expect(commit.answered[sender] >= number, "an answer is taken back")
            if not commit.answered.keys() - {device.name}:
                for key, entry in commit.rows.items():
                    expect(not (shown(earlier.rows.get(key)) and waits(entry) and earlier.rows[key].born == entry.born), "a shown row is held", key)
            if not crash:
                self.check_rows(device.state, device)
                expect(device.state == commit.rows or device.entries, "a publisher does not show what it published")

    def accept(self, device):
        common, private = self.gone[device.name]
        if len(self.log) == common:
            return False
        del self.gone[device.name]
        device.accept_rollback(self.log)
        self.steps.append(("accept", device.name))
        return True

    def accident(self):
        """A device gets another name, or its database is put back from a backup; that one gets another name, too."""
        r, device = self.r, self.r.choice(self.devices)
        if device.name in self.gone or not device.version:
            return
        if device.name not in self.backups:
            self.backups[device.name] = {k: copy.copy(v) for k, v in vars(device).items()}, len(self.steps), set(self.written), {k: list(v) for k, v in self.over.items()}
            self.backups[device.name][0]["entries"] = [list(e) for e in device.entries]
            self.steps.append(("backup", device.name))
            return
        self.lost |= device.journal
        name = device.name
        if r.random() < 0.5:                    # what was never handed over is gone with the database
            state, _, _, _ = self.backups[name]
            gone = {(e.key, c, v) for n, e in device.entries if n is None for c, v in (e.values or {}).items() if c in e.changed}
            if gone or any(e.values is None for n, e in device.entries if n is None):
                return                          # the test could not tell which values may be missing
            vars(device).update({k: copy.copy(v) for k, v in state.items() if k not in ("view", "viewed")})
            device.entries = [list(e) for e in device.entries]
            device.view = None
            self.steps.append(("restore", name))
        del self.backups[name]
        device.name, device.entries = name + "'", [[None, e] for _, e in device.entries]
        self.skew[device.name] = self.skew[name]
        if name in self.strict:
            self.strict.add(device.name)
        self.steps.append(("rename", device.name))

    def resolve(self, device):
        """`conflicts edit` and `conflicts drop` of a held row."""
        held = sorted(k for k, e in device.state.items() if waits(e))
        if held:
            key = self.r.choice(held)
            row = self.fill(key[0], device, key, dict(device.state[key].values), self.r.sample(self.schema[key[0]].columns, 1))
            if key[0] != "u" or row["low"] <= row["high"]:
                self.write(device, key, self.r.choice([None, row]), True)

    def run(self):
        r = self.r
        if self.one_row:
            self.transaction(self.devices[0])
            for device in self.devices:
                self.sync(device, True)
        for _ in range(r.randint(5, 40)):
            self.now += r.choice([0, 1, 10, 100, 1000])
            device, kind = r.choice(self.devices), r.random()
            if kind < 0.02:
                self.skew[device.name] = r.randint(-5000, 5000)
            elif kind < 0.6:
                self.transaction(device)
            elif kind < 0.62:
                self.resolve(device)
            elif kind < 0.66 and self.accidents:
                self.accident()
            else:
                self.sync(device)
        self.finish()

    def finish(self):
        for name, (common, private) in list(self.gone.items()):
            if len(self.log) == common:         # somebody has to publish
                self.log += private[common:]
            if self.log[common] is private[common]:
                del self.gone[name]
        for _ in range(20):
            count = len(self.log)
            for device in self.devices:
                for _ in range(3):
                    self.now += 1
                    self.sync(device, True)
            if count == len(self.log) and all(d.version == count and not self.pending(d) for d in self.devices):
                break
        else:
            raise Broken("does not settle", [(d.name, d.version, len(self.log), d.entries) for d in self.devices])
        if not self.log:
            return
        final, new = self.log[-1].rows, Device("new", self.schema, False)
        new.take_in(self.log, len(self.log))
        for device in self.devices + [new]:
            expect(device.state == final or device.entries, "not equal", device.name, *difference(device.state, final))
        self.lost |= set().union(*(d.journal for d in self.devices))
        self.check_values(final)

    def pending(self, device):
        return [e for n, e in device.entries if n or not self.limited or device in self.publishers]

    def check_values(self, final):
        local = {(e.key, c, v) for d in self.devices for _, e in d.entries for c, v in (e.values or {}).items()}    # beyond a reader's permission
        deleted = {e.key for d in self.devices for _, e in d.entries if e.values is None}
        for key, c, v in self.written - set(self.over) - local:     # nobody who saw it has overwritten it
            entry = final.get(key)
            if key not in self.ties and c != "orphan":
                expect(isinstance(entry, Row) and entry.values[c] == v or (key, c, v) in self.lost, "vanished", key, c, v, entry)
        if self.limited:
            return
        for key in {k for k, _, _ in self.written} - self.ties if self.free and not self.horizons and not self.accidents else ():
            entry, alive = final.get(key), {w for w in self.written - set(self.over) if w[0] == key}
            texts = [c for c in ("text", "note") if c in self.schema[key[0]].columns]
            if not [w for w in alive if w[1] in texts]:
                expect(not isinstance(entry, Row) or self.came_back(key, entry, texts), "a deleted row is there", key, entry)
            for c in texts if not any(None in self.over.get(w, []) for w in self.written if w[0] == key) and self.inserted.get(key) == 1 else ():
                mine = [w for w in alive if w[1] == c]
                if mine and not any(c in group for group in self.schema[key[0]].together):
                    expect(isinstance(entry, Row) and entry.values[c] == max(mine, key=lambda w: self.at[w])[2], "not the latest", mine, entry)
            if isinstance(entry, Row) and key[0] == "u" and key not in self.updated:
                expect(int(entry.values["note"].split(".")[1]) == int(entry.values["text"].split(".")[1]) + 1, "two rows are mixed", key, entry)
        for key, entry in final.items():
            for c in ("text", "note") if isinstance(entry, Row) and not self.accidents else ():
                value = (key, c, entry.values.get(c))
                if value[2] is not None and key not in self.ties:
                    expect(entry.born in self.lineage[value], "two rows are mixed", value, entry.born, self.lineage[value])
                    expect(self.may_stand(value), "resurrected", value, self.over.get(value))

    def came_back(self, key, row, columns):
        """Somebody inserted these values again, or edited another column of the row after it was deleted."""
        return key in self.again or any(c not in columns and (key, c, v) not in self.over or (key, c, v) in self.repeated for c, v in row.values.items())

    def may_stand(self, value):
        """Each edit that overwrote the value is dead: it lost, or was deleted with the row and the row came back, or what overwrote it is dead."""
        def dead(w, path):
            return w is None or w in self.lost or w not in path and any(dead(x, path | {w}) for x in self.over.get(w, []))
        return all(dead(w, frozenset()) for w in self.over.get(value, []))


def main(first, count):
    failures = 0
    for seed in range(first, first + count):
        world = World(seed)
        try:
            world.run()
        except Exception as error:
            failures += 1
            print(seed, type(error).__name__, *error.args if isinstance(error, Broken) else [traceback.format_exc()])
            if failures > 4:
                break
    print(f"{seed - first + 1} random histories, {failures} broken")
    return failures


if __name__ == "__main__":
    arguments = [int(a) for a in sys.argv[1:]]
    sys.exit(bool(main(*(arguments + [0, 1000][len(arguments):]))))
