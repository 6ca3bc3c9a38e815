"""Runs the steps of a history on real databases and follows them in the model."""
import os
import time
from collections import Counter

import clock
import effects
import mailbox
import model
import versions
from devices import parsed

LOOKS = (["plan"], ["status"], ["verify", "--local"], ["doctor"], ["history"], ["messages"])
KILLED = -9


class Failed(Exception):
    """Something is otherwise than the documents say."""


class Run:
    def __init__(self, history, devices):
        self.history, self.devices, self.schema = history, devices, history.schema
        self.worlds = [model.World(history.schema, devices.names)]
        self.exact = True      # whether the model still follows
        self.figures = Counter()
        self.off, self.bare, self.pruned = set(), set(devices.names), False
        self.seen = {}
        self.log = []

    # MARK: the model

    def follow(self, action, what):
        """Goes on from every world, and keeps those that what is seen now does not contradict."""
        if not self.exact:
            return
        try:
            self.worlds = model.then(self.worlds, action)
        except model.TooOpen:
            self.give_up("too many readings")
            return
        self.keep(what)

    def keep(self, what):
        newest = self.devices.newest()
        left = [world for world in self.worlds if world.number == newest]
        if not left:
            raise Failed("%s: the zone's newest version is %d, by the rules %s" % (
                what, newest, " or ".join(str(number) for number in sorted({world.number for world in self.worlds}))))
        matching = [world for world in left if all(self.shown(world, name) for name in self.seen)]
        if not matching:
            raise Failed(self.difference(what, left))
        self.worlds = matching
        for what in set.intersection(*(set(world.happened) for world in matching)):
            self.figures[what] = max(self.figures[what], 1)

    def shown(self, world, name):
        wanted = world.devices[name].rows(self.schema)
        return wanted == self.seen[name] or all(
            (table.name, key) in world.open or mailbox.matches(wanted[table.name].get(key), self.seen[name][table.name].get(key))
            for table in self.schema.tables for key in set(wanted[table.name]) | set(self.seen[name][table.name]))

    def difference(self, what, worlds):
        lines = ["%s: the rows are not what the rules say" % what]
        for name in sorted(self.seen):
            if any(self.shown(world, name) for world in worlds):
                continue
            wanted, seen = worlds[0].devices[name].rows(self.schema), self.seen[name]
            for table in self.schema.tables:
                for key in sorted(set(wanted[table.name]) | set(seen[table.name]), key=repr):
                    one, other = wanted[table.name].get(key), seen[table.name].get(key)
                    if one != other:
                        lines.append("  %s: %s %r is %r, should be %r" % (name, table.name, key, other, one))
                        entry, head = worlds[0].devices[name].know.get((table.name, key)), worlds[0].head.get((table.name, key))
                        lines.append("    the model here: %r" % (self.readable(entry),))
                        lines.append("    the model's newest version: %r" % (self.readable(head),))
        if len(worlds) > 1:
            lines.append("  (%d readings of the documents, of which this is one)" % len(worlds))
        return "\n".join(lines)

    def readable(self, entry):
        if entry is None:
            return None
        return (entry.row, "%.6f" % ((entry.lo - self.devices.base) / 1e6), "%.6f" % ((entry.hi - self.devices.base) / 1e6), entry.origin)

    def look(self, *names):
        for name in names:
            self.seen[name] = self.devices.rows(name)

    def expect(self, step, result, codes):
        if result.code not in codes:
            raise Failed("%s ended with %d, not with %s\n%s%s" % (
                describe(step), result.code, " or ".join(str(code) for code in sorted(codes)), result.out[-600:], result.err[-900:]))

    # MARK: steps

    def do(self, step):
        before = time.monotonic()
        getattr(self, "do_" + step["kind"])(step)
        self.figures["steps"] += 1
        self.figures["steps: " + step["kind"]] += 1
        self.log.append((describe(step), time.monotonic() - before))

    def do_edit(self, step):
        name = step["device"]
        result = self.devices.statements(name, step["at"], step["ops"], step["foreign_keys"])
        made = self.effects_of(step)
        if (result.code == 0) != (made is not None):
            raise Failed("%s: SQLite says %s, without snapsync it would say %s\n%s" % (
                describe(step), "yes" if result.code == 0 else "no", "yes" if made else "no", result.err))
        self.look(name)
        if made is None:
            self.figures["statements refused"] += 1
            return
        self.figures["dangling by the application"] += not step["foreign_keys"] and dangles(self.schema, made[0])
        if made[0] != self.seen[name]:
            raise Failed("%s: the tables are not what the statements make of them without snapsync: %r, not %r" % (describe(step), self.seen[name], made[0]))
        self.follow(self.edit_action(step, made[1]), describe(step))

    def effects_of(self, step):
        now = self.devices.now(step["device"], step["at"])
        ops = [dict(op, sql=clock.expand(op["sql"], self.devices.base),
                    values=[clock.expand(value, self.devices.base) for value in op.get("values", [])]) for op in step["ops"]]
        return effects.effects(self.schema, self.seen[step["device"]], ops, clock.text(now, "millis"), step["foreign_keys"])

    def edit_action(self, step, touches):
        name, now = step["device"], self.devices.now(step["device"], step["at"])
        if name in self.bare:
            return lambda world: [model.unnoticed(world, name, touches, now, step["n"])]
        return lambda world: model.edit(world, name, touches, now, clock.instant, step["n"])

    def do_init(self, step):
        name = step["device"]
        arguments = ["init", "--cloud", "cloud", "--role", step["role"], "--device", name] + step.get("flags", [])
        if not self.schema.built_in:
            arguments += ["--datasets", "datasets.json"]
        result = self.devices.run(name, step["at"], *arguments)
        if name not in self.bare:
            self.expect(step, result, {64, 78})
            return
        self.expect(step, result, {0})
        self.bare.discard(name)
        self.off.discard(name)
        now = self.devices.now(name, step["at"])
        self.look(name)
        self.follow(lambda world: [model.joined(world, name, now, clock.instant, step["n"])], describe(step))

    def do_detach(self, step):
        name = step["device"]
        result = self.devices.run(name, step["at"], "detach")
        self.expect(step, result, {78, 66} if name in self.bare else {0})
        self.bare.add(name)
        self.follow(lambda world: [model.left(world, name)], describe(step))

    def codes(self, name, moment):
        """The exit codes that a command which publishes may have, and whether the user or a guard stops it."""
        if name in self.bare or name in self.off:
            return {78}
        # Until the device that made the zone has published, the others find nothing.
        nothing = {66} if self.devices.newest() <= 1 and name != self.history.plan.names[0] else set()
        return {0, 78} | nothing if self.beyond(name, moment) else {0} | nothing

    def beyond(self, name, moment):
        away = abs(self.devices.now(name, moment) - int(time.time() * 1e6))
        return away > 23 * clock.HOUR

    def do_sync(self, step):
        name = step["device"]
        result = self.devices.run(name, step["at"], "sync")
        self.after_sync(step, result, self.codes(name, step["at"]))

    def after_sync(self, step, result, codes):
        name = step["device"]
        self.expect(step, result, codes)
        self.told(step, result)
        self.look(name)
        now = self.devices.now(name, step["at"])
        if name in self.bare or name in self.off:
            action = lambda world: [world]
        elif result.code == 0:
            action = self.synced(name, now)
        else:
            action = self.perhaps(name, now)
        self.follow(action, describe(step))

    def synced(self, name, moment):
        return lambda world: composed([world], self.parts(name, moment))

    def perhaps(self, name, moment):
        """A sync that was killed: what it does was done up to some point."""
        parts = self.parts(name, moment)
        return lambda world: model.distinct([after for count in range(len(parts) + 1) for after in composed([world], parts[:count])]
            + [model.corrected(world, name, moment)])

    def parts(self, name, moment):
        """What a sync does, in its order; a write may come between any two."""
        return [lambda world: model.bring(world, name, moment), lambda world: model.publish(world, name)]

    def told(self, step, result):
        if "set aside" in result.out:
            self.figures["told: set aside"] += 1
        if "gave way" in result.out:
            self.figures["told: gave way"] += 1

    def do_kill(self, step):
        """A sync that is killed after a while, or at a system call."""
        name = step["device"]
        if "call" in step:
            result = self.devices.run_cut(name, step["at"], ["sync"], step["call"], step["when"])
        else:
            result = self.devices.run_killed(name, step["at"], ["sync"], step["after"])
        if step.get("again"):
            again = self.devices.run(name, step["at"], "sync")
            self.figures["kills"] += result.code in (KILLED, 137)
            self.after_sync(step, again, self.codes(name, step["at"]))
            return
        self.figures["kills"] += result.code in (KILLED, 137)
        if result.code in self.codes(name, step["at"]):
            self.after_sync(step, result, {result.code})
            return
        self.expect(step, result, {KILLED, 137, 128 + 9})
        self.look(name)
        stopped = name in self.bare or name in self.off
        self.follow((lambda world: [world]) if stopped else self.perhaps(name, self.devices.now(name, step["at"])), describe(step))

    def do_during(self, step):
        """An application writes while a sync runs."""
        name = step["device"]
        process = self.devices.start(name, step["at"], ["sync"])
        time.sleep(step["after"])
        before = self.seen[name]
        written = self.devices.statements(name, step["at"], step["ops"], step["foreign_keys"])
        result = self.devices.finish(process)
        self.expect(step, result, self.codes(name, step["at"]) | {75})
        self.look(name)
        if written.code != 0 and "locked" in written.err:
            raise Failed("%s: the application could not write in 20 s\n%s" % (describe(step), written.err))
        stopped = result.code != 0 or name in self.bare or name in self.off
        self.follow(lambda world: self.interleaved(world, step, written.code == 0, stopped), describe(step))
        self.figures["writes during a sync"] += 1

    def interleaved(self, world, step, written, stopped):
        name = step["device"]
        def write(world):
            made = effects.effects(self.schema, self.completed(world.devices[name].rows(self.schema), self.seen[name]), self.expanded(step),
                clock.text(self.devices.now(name, step["at"]), "millis"), step["foreign_keys"])
            if (made is not None) != written:
                return []
            return self.edit_action(step, made[1])(world) if made else [world]
        parts = self.parts(name, self.devices.now(name, step["at"]))
        orders = [parts[:place] + [write] + parts[place:] for place in range(len(parts) + 1)]
        if stopped:
            orders = [[write], [write] + parts[:1], parts[:1] + [write]]
        return model.distinct([after for order in orders for after in composed([world], order)])

    def completed(self, rows, seen):
        """Rows with what is seen in the place of values that the model leaves open."""
        return {table: {key: seen[table].get(key, tuple(None if value is mailbox.ANY else value for value in row)) if mailbox.ANY in row else row
                        for key, row in some.items()} for table, some in rows.items()}

    def expanded(self, step):
        return [dict(op, sql=clock.expand(op["sql"], self.devices.base),
                     values=[clock.expand(value, self.devices.base) for value in op.get("values", [])]) for op in step["ops"]]

    def do_race(self, step):
        """Several devices sync at once."""
        processes = [(name, self.devices.start(name, step["at"], ["sync"])) for name in step["devices"]]
        results = [(name, self.devices.finish(process)) for name, process in processes]
        for name, result in results:
            self.expect(dict(step, device=name), result, self.codes(name, step["at"]))
            self.look(name)
        going = [name for name, result in results if name not in self.bare and name not in self.off]
        sure = {name for name, result in results if result.code == 0}
        self.follow(lambda world: self.raced(world, going, sure, step), describe(step))

    def raced(self, world, going, sure, step):
        """Peers that race end as if they had synced one after the other."""
        def one(name):
            now = self.devices.now(name, step["at"])
            return self.synced(name, now) if name in sure else self.perhaps(name, now)
        return model.distinct([after for order in orders_of(going) for after in composed([world], [one(name) for name in order])])

    def do_look(self, step):
        """A command that only looks: it must change nothing."""
        name = step["device"]
        before, files = self.devices.rows(name), self.devices.cloud_files()
        result = self.devices.run(name, step["at"], *step["command"])
        self.expect(step, result, {0, 65, 66, 74, 75, 78} if step["command"][0] == "doctor" or self.devices.newest() == 0 or name in self.off | self.bare else {0})
        if self.devices.rows(name) != before:
            raise Failed("%s changed rows" % describe(step))
        after = self.devices.cloud_files()
        if after != files:
            changed = sorted(path for path in set(files) | set(after) if files.get(path) != after.get(path))
            raise Failed("%s changed the cloud: %s" % (describe(step), ", ".join(changed)))

    def do_command(self, step):
        """A command of the user's: `step["command"]`; BACK is a version so many before the newest."""
        name, newest, now = step["device"], self.devices.newest(), self.devices.now(step["device"], step["at"])
        version = max(1, newest - step.get("back", 0))
        line = [str(version) if part == "BACK" else part for part in step["command"]]
        result = self.devices.run(name, step["at"], *line)
        codes, action = self.meaning(step, line[:2] if line[0] == "replace" else line[:1], version, now, result)
        self.expect(step, result, codes)
        self.look(name)
        if result.code != 0:
            # A command that ended otherwise has changed nothing, or has imported what is new.
            action = lambda world: model.distinct([world] + model.bring(world, name, now))
        if name in self.bare or name in self.off:
            action = lambda world: [world]
        elif step["command"][0] in ("restore", "undo", "replace") and any(world.devices[name].aside for world in self.worlds):
            self.give_up("versions with rows set aside")
        self.follow(action, describe(step))

    def meaning(self, step, command, version, now, result):
        """The exit codes that a command may have, and what it does."""
        name = step["device"]
        codes = self.codes(name, step["at"])
        if codes == {78}:
            return codes | ({0} if command[0] == "prune" else set()), lambda world: [world]
        if command == ["import"]:
            return {0}, lambda world: model.bring(world, name, now)
        if command == ["export"]:
            behind = not self.exact or any(world.devices[name].version != world.number for world in self.worlds)
            return codes | ({75} if behind else set()), lambda world: model.export(world, name, now)
        if command == ["restore"]:
            return codes | ({66} if self.pruned else set()), lambda world: versions.restored(world, name, version, now, step["n"])
        if command == ["undo"]:
            nothing = not self.exact or any(world.devices[name].undo is None for world in self.worlds)
            return codes | ({66} if nothing or self.pruned else set()), lambda world: versions.undone(world, name, now, step["n"])
        if command == ["replace", "cloud"]:
            return codes, lambda world: versions.replaced_cloud(world, name, now, step["n"])
        if command == ["replace", "local"]:
            return {0}, lambda world: versions.replaced_local(world, name, now)
        self.pruned = self.pruned or command == ["prune"]
        return codes | {75} | ({66} if self.pruned or command == ["unpin"] else set()), lambda world: versions.without_data(world, name, now)

    def give_up(self, why):
        if self.exact:
            self.exact = False
            self.figures["model gave up: " + why] += 1

    def do_age(self, step):
        self.devices.age(step["days"])

    def do_clock(self, step):
        self.devices.offsets[step["device"]] = step["offset"]

    def do_enable(self, step):
        result = self.devices.run(step["device"], step["at"], "enable")
        self.expect(step, result, {78, 66} if step["device"] in self.bare else {0})
        self.off.discard(step["device"])

    def do_disable(self, step):
        result = self.devices.run(step["device"], step["at"], "disable")
        self.expect(step, result, {78, 66} if step["device"] in self.bare else {0})
        if step["device"] not in self.bare:
            self.off.add(step["device"])

    # MARK: what the end is judged by

    def compares(self, place):
        """Whether all devices must agree about an entity at the end."""
        return True

    def may_dangle(self):
        """Whether an application wrote a reference to nothing, with foreign keys off."""
        return self.figures["dangling by the application"] > 0

    def expected_finding(self, name, finding):
        # The clocks of all devices are off, by an hour at least.
        return finding["id"] in ("journal", "clock")


def dangles(schema, rows):
    """Whether a row refers to a parent that is not there."""
    for table in schema.tables:
        if table.parent:
            column = table.position(table.parent[0])
            if any(row[column] is not None and row[column] not in rows[table.parent[1]] for row in rows[table.name].values()):
                return True
    return False


def composed(worlds, actions):
    """The worlds that several actions lead to, one after the other."""
    for action in actions:
        worlds = model.then(worlds, action)
    return worlds


def orders_of(names):
    if len(names) < 2:
        return [list(names)]
    return [[name] + rest for name in names for rest in orders_of([other for other in names if other != name])]


def describe(step):
    detail = " ".join(str(part) for part in step.get("command", [])) or "; ".join(op["sql"] for op in step.get("ops", []))
    who = step.get("device") or "+".join(step.get("devices", []))
    return "step %s: %s %s %s" % (step.get("n", "?"), step["kind"], who, detail[:200])
