"""Follows what happens in the model, and compares it with what is seen."""
from collections import Counter

import mail
import model


class Failed(Exception):
    """Something is otherwise than the documents say."""


class Follower:
    """`worlds` are the states that fit all that was seen so far; `exact` is false once there were too many to go on."""

    def __init__(self, schema, devices):
        self.schema, self.devices = schema, devices
        self.worlds, self.exact = [model.World(schema, devices.names)], True
        self.figures, self.seen = Counter(), {}

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
            (table.name, key) in world.open or mail.matches(wanted[table.name].get(key), self.seen[name][table.name].get(key))
            for table in self.schema.tables for key in set(wanted[table.name]) | set(self.seen[name][table.name]))

    def difference(self, what, worlds):
        lines = ["%s: the rows are not what the rules say" % what]
        worlds = sorted(worlds, key=self.distance)
        for name in sorted(self.seen):
            if self.shown(worlds[0], name):
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

    def distance(self, world):
        """How many rows are otherwise than a world has them."""
        count = 0
        for name, seen in self.seen.items():
            wanted = world.devices[name].rows(self.schema)
            count += sum(wanted[table].get(key) != seen[table].get(key) for table in seen for key in set(wanted[table]) | set(seen[table]))
        return count

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

    def give_up(self, why):
        if self.exact:
            self.exact = False
            self.figures["model gave up: " + why] += 1


def describe(step):
    detail = " ".join(str(part) for part in step.get("command", [])) or "; ".join(op["sql"] for op in step.get("ops", []))
    who = step.get("device") or "+".join(step.get("devices", []))
    return "step %s: %s %s %s" % (step.get("n", "?"), step["kind"], who, detail[:200])
