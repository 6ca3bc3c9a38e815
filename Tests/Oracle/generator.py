"""Random steps of a history, drawn while it runs, for a statement is best made of the rows that are there."""
from clock import HOUR, SECOND
from application import NotificationWriter
from reader_edits import EditsWriter
from user_commands import LOOKS
from schemas import built_in_schema, edited_schema
from writer_run import WriterRun

MILLISECOND = 1000


class WriterPlan:
    """The setting of a history of a writer and its readers, with the built-in tables."""

    def __init__(self, chance, without):
        self.schema, self.without = built_in_schema(), without
        self.names = ["w", "r", "s", "t"][:chance.choice([2, 3, 3, 4])]
        skewed = chance.random() < 0.5
        self.offsets = {name: offset(chance) if skewed else 0 for name in self.names}
        if chance.random() < 0.04 and "jumps" not in without:
            self.offsets[chance.choice(self.names)] = chance.choice([-30, 30]) * HOUR
        self.wal = {name: chance.random() < 0.5 for name in self.names}
        self.length = chance.randrange(20, 50)
        # Changes that no message carries are made in some histories only, for with them devices may differ.
        self.overlays = chance.random() < 0.1
        self.run = WriterRun

    def role(self, name):
        return "writer" if name == "w" else "reader"

    def make_database(self, devices, name):
        devices.make_tables(name, self.wal[name])


class EditsPlan(WriterPlan):
    """The same with an application's own tables, in which readers write what a message carries and what none does."""

    def __init__(self, chance, without):
        super().__init__(chance, without)
        self.schema, self.overlays = edited_schema(chance, without), True


def plan(kind, chance, without):
    return {"writer": WriterPlan, "edits": EditsPlan}[kind](chance, without)


def offset(chance):
    """How far a device's clock is off, in whole milliseconds."""
    kind = chance.random()
    if kind < 0.35:
        return 0
    if kind < 0.6:
        return chance.randrange(-10_000, 10_000) * MILLISECOND
    return chance.randrange(-11 * 3600, 11 * 3600) * SECOND + chance.randrange(1000) * MILLISECOND


class Clock:
    """The moments of the steps: mostly a second or so apart, sometimes minutes."""

    def __init__(self, chance):
        self.chance, self.now = chance, 0

    def tick(self):
        kind = self.chance.random()
        if kind < 0.7:
            self.now += self.chance.randrange(5, 2000) * MILLISECOND
        elif kind < 0.95:
            self.now += self.chance.randrange(2, 60) * SECOND
        else:
            self.now += self.chance.randrange(1, 10) * 60 * SECOND
        return self.now


def steps(history, run):
    """Draws the steps of a history, each after the one before has been run."""
    chance, plan = history.chance, history.plan
    clock = Clock(chance)
    writer = {"writer": NotificationWriter, "edits": EditsWriter}[history.kind](chance, history.schema, history.without)
    number = [0]

    def numbered(step, fixed=False):
        number[0] += 1
        return dict(step, n=number[0], at=clock.tick(), **({"fixed": True} if fixed else {}))

    def edit(name, most=3):
        step = {"kind": "edit", "device": name, "foreign_keys": True}
        return with_ops(step, name, chance.choice([1] * 4 + [most]))

    def with_ops(step, name, count):
        step = numbered(step)
        moment = step["at"] + run.devices.offsets[name]
        rows = run.seen[name]
        writer.saw(rows)
        reads = plan.role(name) == "reader" and not (plan.overlays and chance.random() < (0.15 if history.kind == "edits" else 0.3))
        return dict(step, ops=[op for _ in range(count) for op in (writer.reader_ops if reads else writer.ops)(moment, rows)])

    for index, name in enumerate(plan.names):
        for _ in range(chance.choice([2, 4, 6]) if index == 0 else chance.choice([0, 0, 0, 1])):
            if plan.role(name) != "reader":
                yield edit(name)
        yield numbered({"kind": "init", "device": name, "role": plan.role(name)}, fixed=True)
        yield numbered({"kind": "sync", "device": name}, fixed=index == 0)
    for _ in range(plan.length):
        yield from plan_step(chance, plan, run, numbered, edit, with_ops)


def plan_step(chance, plan, run, numbered, edit, with_ops):
    name = chance.choice(plan.names)
    kind = chance.random()
    if kind < 0.46:
        yield edit(name)
    elif kind < 0.70:
            yield numbered({"kind": "sync", "device": name})
    elif kind < 0.74:
        again = {"again": True} if plan.role(name) == "reader" and chance.random() < 0.8 else {}
        yield numbered(dict({"kind": "kill", "device": name}, **kill(chance), **again))
    elif kind < 0.78:
        step = {"kind": "during", "device": name, "foreign_keys": True, "after": round(chance.random() * 0.06, 4)}
        yield with_ops(step, name, chance.choice([1, 1, 2]))
    elif kind < 0.81:
        yield numbered({"kind": "race", "devices": chance.sample(plan.names, min(len(plan.names), chance.choice([2, 2, 3])))})
    elif kind < 0.84:
        yield numbered({"kind": "look", "device": name, "command": list(chance.choice(LOOKS))})
    elif kind < 0.86:
        if "jumps" not in plan.without:
            yield numbered({"kind": "clock", "device": name, "offset": offset(chance)})
    elif kind < 0.88:
        yield numbered({"kind": "disable", "device": name})
        yield edit(name)
        yield numbered({"kind": "enable", "device": name})
    elif kind < 0.90:
        yield numbered({"kind": "age", "days": 3})
    else:
        yield from command(chance, plan, name, numbered)


def kill(chance):
    if chance.random() < 0.75:
        return {"after": round(chance.random() * 0.08, 4)}
    call, most = chance.choice([("pwrite64", 40), ("fdatasync", 6), ("fsync", 8), ("linkat", 3), ("openat", 60), ("unlink", 3)])
    return {"call": call, "when": chance.randrange(1, most)}


def command(chance, plan, name, numbered):
    if plan.role(name) == "reader":
        yield numbered({"kind": "sync", "device": name})
        yield numbered({"kind": "sync", "device": "w"})
        yield numbered({"kind": "sync", "device": name})
    else:
        yield numbered({"kind": "command", "device": name, "command": ["prune", "--keep-last", str(chance.choice([1, 3]))]})
