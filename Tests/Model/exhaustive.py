"""All histories of a small scope against the rules. Usage: exhaustive.py [steps] [seconds for each scope]

A scope is a set of devices (two or three peers; a writer with one or two readers), one or two keys, and a table: two plain columns, a UNIQUE column, or a
column that refers to the other row. A step is an INSERT, an UPDATE of one of the two columns, a DELETE, or a run: a sync, a sync that is killed before
or after its commit, a sync whose message is lost, a sync of a publisher that finds no message, or only the oldest one. Files stay in the mailbox, so every
message also arrives again.

After each step the world is brought to an end: all devices sync until nothing changes. States that differ only in absolute times, in the names of
values, or in which of several equal devices and keys is which, are visited once. The properties are those of histories.py.
"""
import sys
import time
from devices import EMPTY, Device
from indexed import IndexedView
from histories import Broken, difference, expect
from rules import FullView, Row, Table, Tombstone, rebase, shown, waits

TABLES = {"plain": Table(("a", "b")), "unique": Table(("a", "b"), unique=(("b",),)), "reference": Table(("a", "b"), references=(("b", "t"),))}
SCOPES = [(devices, table, keys) for devices in ("pp", "pr", "ppp", "prr") for table in TABLES for keys in (1, 2) if keys == 2 or table == "plain"]
NEXT = 10                           # between two steps: later than any instant that a rule derives


class World:
    def __init__(self, devices, table, keys):
        self.schema, self.kind = {"t": TABLES[table]}, table
        self.devices = [Device(f"{role}{i}", self.schema, role == "p") for i, role in enumerate(devices)]
        self.keys = [("t", k) for k in range(keys)]
        self.log, self.mail, self.now, self.used_keys, self.used = [], {}, NEXT, 0, set()
        self.open = set()           # values that nobody who saw them has overwritten, and that no journal has

    def copy(self):
        world = object.__new__(World)
        world.__dict__.update(self.__dict__)
        world.devices = []
        for device in self.devices:
            other = object.__new__(Device)
            other.__dict__.update(device.__dict__)
            other.entries, other.journal = [list(entry) for entry in device.entries], set()
            world.devices.append(other)
        world.log, world.mail, world.used, world.open = list(self.log), dict(self.mail), set(self.used), set(self.open)
        world.now += NEXT
        return world

    # Steps.

    def steps(self):
        """What can happen next. Of equal devices and keys that were not used yet, only the first can be used."""
        fresh = set()
        for i, device in enumerate(self.devices):
            if i not in self.used:
                if device.publishes in fresh:
                    continue
                fresh.add(device.publishes)
            table = device.table
            for k, key in enumerate(self.keys[:self.used_keys + 1]):
                for kind in ("a", "b", "delete") if key in table else ("insert",):
                    if self.row(device, key, kind) is not False:
                        yield i, kind, k
            if device.publishes:
                waiting = any(n > self.answered(name) for name, files in self.mail.items() for m in files for n, _ in m)
                changes = device.entries or waiting or not self.log
                yield i, "sync", None
                if changes:
                    yield i, "before", None
                    yield i, "after", None
                if waiting:
                    yield i, "without mail", None
                if any(len(files) > 1 for files in self.mail.values()):
                    yield i, "oldest mail", None
            elif self.log:
                yield i, "sync", None
                if device.entries:
                    yield i, "lost", None

    def row(self, device, key, kind):
        """The row that a statement writes; False: SQLite refuses it."""
        table, other = device.table, next((k for k in self.keys if k != key), None)
        if kind == "delete":
            return None
        row = dict(table.get(key, {}))
        if kind in ("a", "insert"):
            row["a"] = self.now
        if kind in ("b", "insert"):
            if self.kind == "plain":
                row["b"] = self.now
            elif self.kind == "unique":
                row["b"] = 1 if kind == "insert" or row["b"] is None else None
                if row["b"] and any(o["b"] == 1 for k, o in table.items() if k != key):
                    return False
            else:
                row["b"] = None if kind == "b" and row["b"] is not None else other[1] if other in table else None
                if kind == "b" and row["b"] == table[key]["b"]:
                    return False
        return row

    def take(self, step):
        i, kind, k = step
        device = self.devices[i]
        self.used.add(i)
        if k is not None:
            self.used_keys = max(self.used_keys, k + 1)
            self.write(device, self.keys[k], self.row(device, self.keys[k], kind))
        elif device.publishes:
            choose = {"without mail": lambda files: [], "oldest mail": lambda files: files[:1]}.get(kind, lambda files: files)
            self.import_newest(device)
            if not device.publish(self.log, {name: [e for m in choose(files) for e in m] for name, files in self.mail.items()}, self.now,
                                  crash=kind if kind in ("before", "after") else None):
                raise Broken("a race is lost right after an import")
            self.check_commit()
        else:
            self.import_newest(device)
            message = device.hand_over(self.now)
            if message and kind != "lost":
                self.mail[device.name] = self.mail.get(device.name, []) + [message]
        self.open -= device.journal

    def write(self, device, key, row):
        before = device.table.get(key)
        children = [k for k, o in device.table.items() if self.kind == "reference" and o["b"] == key[1] and k != key] if row is None else []
        for c in ("a", "b") if self.kind == "plain" else ("a",):
            if before and (row is None or row[c] != before[c]):
                self.open.discard((key, c, before[c]))
            if row and (before is None or row[c] != before[c]):
                self.open.add((key, c, row[c]))
        device.write(key, row, self.now)
        for child in children:      # ON DELETE CASCADE
            if child in device.table:
                self.write(device, child, None)

    def answered(self, name):
        return self.log[-1].answered.get(name, 0) if self.log else 0

    def import_newest(self, device):
        if not self.log:
            return
        before, had, own, same = device.table, device.state, [list(e) for e in device.entries], device.version == len(self.log)
        device.take_in(self.log, len(self.log))
        commit, pending = self.log[-1], {e.key for n, e in own if n}
        self.open -= device.journal
        last = {e.key: e for _, e in own}
        returns = any(isinstance(e, Row) and k not in before and not waits(had.get(k)) and (k not in last or last[k].values is None and last[k].born != e.born)
                      for k, e in commit.rows.items())
        if same and not returns:
            for key in before.keys() | device.table.keys():
                expect(key in pending or waits(had.get(key)) or before.get(key) == device.table.get(key), "the same version changed", key)
        self.check_rows(device.state)

    def check_commit(self):
        if len(self.log) > 1:
            for name, number in self.log[-2].answered.items():
                expect(self.answered(name) >= number, "an answer is taken back")
        if self.log:
            self.check_rows(self.log[-1].rows)

    def check_rows(self, rows):
        view = FullView(self.schema, rows)
        for key, row in rows.items():
            if shown(row):
                expect(not any(view.rivals(key)), "UNIQUE", key)
                expect(not any(view.missing(key)), "reference", key)
        view.release()
        expect(view.rows == rows, "a held row fits")

    def check(self):
        """An import twice is as one, and the same with indexes."""
        for device in self.devices:
            if not self.log:
                continue
            one = self.copy()
            mine = one.devices[self.devices.index(device)]
            view = IndexedView(self.schema)
            view.advance(device.head.rows)
            had = device.state
            one.import_newest(mine)
            twice = one.copy().devices[self.devices.index(device)]
            twice.take_in(self.log, len(self.log))
            expect(twice.state == mine.state, "an import twice is not as one", *difference(twice.state, mine.state))
            recorded = []
            probe = self.copy().devices[self.devices.index(device)]
            probe.rebase = lambda commit, edits, had: recorded.append(edits) or Device.rebase(probe, commit, edits, had)
            probe.take_in(self.log, len(self.log))
            commit = self.log[-1]
            view.advance({k: commit.rows.get(k) for k in {**device.head.rows, **commit.rows} if device.head.rows.get(k) != commit.rows.get(k)})
            rebase(view, recorded[0], commit.horizon, had, probe.restores, probe.publishes)
            expect(view.rows == mine.state, "with indexes: other rows", *difference(view.rows, mine.state))

    def finish(self):
        for _ in range(8):
            count = len(self.log)
            for i, device in enumerate(self.devices):
                self.now += NEXT
                if device.publishes or self.log:
                    self.take((i, "sync", None))
            if count == len(self.log) and all(d.version == count and not d.entries for d in self.devices) or not self.log:
                break
        else:
            raise Broken("does not settle", [(d.name, d.version, len(self.log), d.entries) for d in self.devices])
        final = self.log[-1].rows if self.log else {}
        for device in self.devices if self.log else ():
            expect(device.state == final, "not equal", device.name, *difference(device.state, final))
        for key, c, v in self.open if self.log else ():
            entry = final.get(key)
            expect(isinstance(entry, Row) and entry.values[c] == v, "vanished", key, c, v, entry)

    # States.

    def state(self):
        """A number for all states that go on in the same way."""
        out, instants, numbers, names, commits = [self.used_keys, *sorted(self.used)], [], {}, {}, {}

        def instant(at):
            if at is not None:
                instants.append(len(out))
            out.append(at)

        def values(v):
            if v is None:
                out.append("-")
            else:
                for c in ("a", "b"):
                    out.append(names.setdefault(v[c], len(names)) if c == "a" or self.kind == "plain" else v[c])

        def number(name, n):
            if n:
                numbers.setdefault(name, []).append(len(out))
            out.append(n)

        def rows(rows):
            for key in self.keys:
                entry = rows.get(key)
                out.append("r" if isinstance(entry, Row) else "t" if entry else "n")
                if isinstance(entry, Row):
                    values(entry.values)
                    instant(entry.instants["a"]), instant(entry.instants["b"]), instant(entry.born)
                    out.append(entry.held)
                elif entry:
                    instant(entry.at)

        def edit(e):
            out.append((e.key[1], e.held, e.loose, isinstance(e.base, dict)))
            for part in (e.base, e.changed):
                for c in ("a", "b", None) if isinstance(part, dict) else ():
                    instant(part.get(c))
                if not isinstance(part, dict):
                    instant(part)
            values(e.values)
            instant(e.born)

        def commit(c):
            if id(c) in commits:
                out.append(commits[id(c)])
                return
            commits[id(c)] = f"c{len(commits)}"
            rows(c.rows)
            for device in self.devices:
                number(device.name, c.answered.get(device.name))

        commit(self.log[-1] if self.log else EMPTY)
        for device in self.devices:
            out.append("d")
            commit(device.head)
            number(device.name, device.number)
            if device.intent:
                version, made, losses = device.intent
                out.append(version <= len(self.log) and self.log[version - 1] is made)
                open_losses = losses & self.open
                out.append(tuple(sorted((k[1], c, names.setdefault(v, len(names))) for k, c, v in open_losses if c)))
            for n, e in device.entries:
                number(device.name, n)
                edit(e)
            rows(device.state)
            for message in self.mail.get(device.name, ()):
                out.append("m")
                for n, e in message:
                    if n > self.answered(device.name):
                        number(device.name, n)
                        edit(e)
        out.append("o")
        out.extend(sorted((key[1], c, names.get(v, -1)) for key, c, v in self.open))
        previous, rank, ranks = None, 0, {}
        for at in sorted({out[i] for i in instants}):
            rank += 1 if previous is not None and at == previous + 1 else NEXT
            previous, ranks[at] = at, rank
        for i in instants:
            out[i] = ranks[out[i]]
        for positions in numbers.values():
            order = {n: r for r, n in enumerate(sorted({out[i] for i in positions}))}
            for i in positions:
                out[i] = order[out[i]]
        return hash(tuple(out))


def explore(scope, depth, seconds):
    """Every history of so many steps: the number of states and steps, and whether the time was enough."""
    begin, seen, transitions = time.process_time(), set(), 0
    level = [(World(*scope), ())]
    for reached in range(1, depth + 1):
        following = []
        for world, path in level:
            for step in world.steps():
                if time.process_time() - begin > seconds:
                    return len(seen), transitions, reached - 1, time.process_time() - begin
                other = world.copy()
                try:
                    other.take(step)
                    transitions += 1
                    state = other.state()
                    if state not in seen:
                        seen.add(state)
                        if reached < depth:
                            following.append((other, path + (step,)))
                        other.check()
                        other.copy().finish()
                except Broken as error:
                    print(*scope, path + (step,), *error.args)
                    raise
        level = following
    return len(seen), transitions, depth, time.process_time() - begin


def main(depth, seconds):
    states = 0
    for scope in SCOPES:
        try:
            count, transitions, reached, taken = explore(scope, depth, seconds)
        except Broken:
            return 1
        states += count
        print(f"{scope[0]:4} {scope[1]:10} {scope[2]} keys: {count:9,} states, {transitions:10,} steps, all histories of {reached} steps, {taken:.0f} s of processor time", flush=True)
    print(f"exhaustive: {states:,} states, 0 broken")
    return 0


if __name__ == "__main__":
    arguments = [int(a) for a in sys.argv[1:]]
    sys.exit(main(*(arguments + [4, 600][len(arguments):])))
