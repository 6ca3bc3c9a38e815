"""Runs the steps of a history on real databases, and says for each what the documents let it lead to."""
import itertools
import sqlite3
import time

import clock
import effects
import mail
import model
from follower import Failed, Follower, describe
from user_commands import UserCommands

KILLED = -9


# Stands for a value that the model leaves open in a row that is not seen under its key any more, because the same step has changed the key.
UNSEEN = "a value that was not seen"
# Of so many open rows, all combinations are looked at.
MOST_OPEN = 6


def opened(touch):
    def row(values):
        return tuple(mail.ANY if value == UNSEEN else value for value in values) if isinstance(values, tuple) else values
    return touch._replace(before=row(touch.before), after=row(touch.after), renamed=row(touch.renamed))


def unseen_before(touch, rows):
    """A touch of a row with values that the model leaves open: what it has afterwards may be what the write itself has set, not what was there before."""
    row = rows[touch.table].get(touch.key)
    if touch.kind != "update" or row is None or mail.ANY not in row:
        return touch
    return touch._replace(before=tuple(
        mail.ANY if open_value is mail.ANY and one == other else one for open_value, one, other in zip(row, touch.before, touch.after)))


class Run(UserCommands, Follower):
    def __init__(self, history, devices):
        super().__init__(history.schema, devices)
        self.history = history
        self.off, self.bare, self.pruned = set(), set(devices.names), False
        self.log = []

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
        arguments = ["init", "--cloud", "cloud", "--role", step["role"], "--device", name] + (["--shared-keys"] if step["role"] != "reader" else []) + step.get("flags", [])
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
        def effect(rows):
            try:
                return effects.effects(self.schema, self.completed(rows, self.seen[name]), self.expanded(step),
                    clock.text(self.devices.now(name, step["at"]), "millis"), step["foreign_keys"]), True
            except sqlite3.IntegrityError:
                # With what is seen in the place of what is open, these rows were never there at once.
                return None, False

        def write(world):
            for made, is_possible in map(effect, self.with_what_is_open(world, name)):
                if is_possible and (made is not None) == written:
                    break
            else:
                return []
            if not made:
                return [world]
            rows = world.devices[name].rows(self.schema)
            readings = {tuple(made[1]), tuple(unseen_before(touch, rows) for touch in made[1])}
            return [self.with_open_keys(after, made[1]) for touches in readings
                    for after in self.edit_action(step, [opened(touch) for touch in touches])(world)]
        parts = self.parts(name, self.devices.now(name, step["at"]))
        orders = [parts[:place] + [write] + parts[place:] for place in range(len(parts) + 1)] + self.meeting(name, parts, write)
        if stopped:
            # A run that was refused has published nothing, and did what comes before that up to some point.
            orders = [parts[:place] + [write] + parts[place:count] for count in range(len(parts)) for place in range(count + 1)]
        return model.distinct([after for order in orders for after in composed([world], order)])

    def with_open_keys(self, world, touches):
        """What is open under a key is open under the key that the row was given in the same step, which is not seen in between."""
        for touch in touches:
            if isinstance(touch.renamed, tuple) and (touch.table, self.schema.table(touch.table).identity(touch.renamed)) in world.open:
                world.open = world.open | {(touch.table, touch.key)}
        return world

    def completed(self, rows, seen):
        """Rows with what is seen in the place of values that the model leaves open."""
        def filled(table, key, row):
            shown = seen[table].get(key, [UNSEEN] * len(row))
            return tuple(there if value is mail.ANY else value for value, there in zip(row, shown))
        return {table: {key: filled(table, key, row) for key, row in some.items()} for table, some in rows.items()}

    def with_what_is_open(self, world, name):
        """A device's rows; then with some of those that the model leaves open as they are seen."""
        rows, seen = world.devices[name].rows(self.schema), self.seen[name]
        places = [place for place in sorted(world.open, key=repr) if rows[place[0]].get(place[1]) != seen[place[0]].get(place[1])][:MOST_OPEN]
        for chosen in itertools.chain.from_iterable(itertools.combinations(places, count) for count in range(len(places) + 1)):
            known = {table: dict(some) for table, some in rows.items()}
            for table, key in chosen:
                known[table].pop(key, None)
                if key in seen[table]:
                    known[table][key] = seen[table][key]
            yield known

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

    # MARK: what the end is judged by

    def expected_finding(self, name, finding):
        if finding["id"] == "held":
            return self.devices.query(name, "SELECT count(*) FROM snapsync_waiting")[0][0] > 0
        # The clocks of all devices are off, by an hour at least.
        return finding["id"] in ("journal", "clock")


def composed(worlds, actions):
    """The worlds that several actions lead to, one after the other."""
    for action in actions:
        worlds = model.then(worlds, action)
    return worlds
