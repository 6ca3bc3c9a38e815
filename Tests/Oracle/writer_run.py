"""Runs histories of a writer and its readers."""
import itertools
import os

import mail
import mailbox
import model
from values import order
from run import Run, composed


class WriterRun(Run):
    def is_writer(self, name):
        return name == "w"

    def parts(self, name, moment):
        if self.is_writer(name):
            return [lambda world: mailbox.apply_mail(model.corrected(world, name, moment), name, moment),
                    lambda world: mailbox.publish_writer(world.copy(), name)]
        return [lambda world: mailbox.import_reader(world, name, moment), lambda world: mailbox.tell(world, name)]

    def meeting(self, name, parts, write):
        """What is written while a reader puts messages into the mailbox is told by the next sync; so is what it overtakes."""
        if self.is_writer(name):
            return []

        def written(world):
            return [after for between in write(world) for after in mailbox.tell(between, name, touched(world.devices[name], between.devices[name]))]
        return [parts[:1] + [written]]

    def raced(self, world, going, sure, step):
        """Syncs at once: their steps in any order. One that failed did its steps up to some point."""
        def ways(name):
            parts = self.parts(name, self.devices.now(name, step["at"]))
            if self.is_writer(name):
                parts[0] = on_some_mail(parts[0], {message.id for message in world.mail})
            return [parts] if name in sure else [parts[:count] for count in range(len(parts) + 1)]
        if world.pruned:
            # A reader whose version is pruned tells again what may have been answered, and the writer may have read the first message by then.
            told = {message.place for name in going for message in world.devices[name].pending}
            if told - world.open:
                world = world.copy()
                world.open = world.open | told
        return model.distinct([
            after for parts in itertools.product(*map(ways, going)) for order in interleaved(list(parts)) for after in composed([world], order)])

    def do_kill(self, step):
        if not step.get("again") and not self.is_writer(step["device"]):
            # Some of its messages may lie in the mailbox and others not.
            self.give_up("a killed reader")
        super().do_kill(step)

    def keep(self, what):
        if any(world.open for world in self.worlds):
            # What is open may be published or not.
            newest = self.devices.newest()
            self.worlds = [renumbered(world, newest) for world in self.worlds]
        super().keep(what)
        self.worlds = [filled(world, self.seen) for world in self.worlds]

    def overlays(self):
        """The places that no message carries: readers differ in them."""
        return {place for world in self.worlds for device in world.devices.values() for place, entry in device.silent if device.know.get(place) == entry}

    def waiting(self):
        """The places whose messages wait for a parent."""
        return {message.place for world in self.worlds for message in world.mail}

    def compares(self, place):
        return not self.history.plan.overlays or (self.exact and place not in self.overlays() | self.waiting())

    def may_wait(self):
        """Whether messages may lie in the mailbox at the end."""
        return self.history.plan.overlays and (not self.exact or any(world.mail for world in self.worlds))

    def waiting_files(self):
        folder = os.path.join(self.devices.zone(), "messages")
        return [os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names]


def touched(before, after):
    return frozenset(place for place in set(before.know) | set(after.know) if before.know.get(place) != after.know.get(place))


def on_some_mail(apply, before):
    """The writer looks into the mailbox while readers put one message after another into it: of each reader's it may find only the first few."""
    def applied(world):
        new = [message for message in world.mail if message.id not in before]
        held_by_sender = [held_back(world, [message for message in new if message.sender == sender]) for sender in sorted({message.sender for message in new})]
        result = []
        for chosen in itertools.product(*held_by_sender):
            held = {message for some in chosen for message in some}
            found = world.copy()
            found.mail = tuple(message for message in world.mail if message not in held)
            for after in apply(found):
                after = after.copy()
                after.mail += tuple(message for message in world.mail if message in held)
                result.append(after)
        return model.distinct(result)
    return applied


def held_back(world, messages):
    """What of one reader's messages may not lie in the mailbox yet. A sync puts them there table by table, by key; those of earlier syncs come first."""
    tables = [table.name for table in world.schema.tables]
    by_place = sorted(messages, key=lambda message: (tables.index(message.place[0]), order(message.place[1])))
    return {frozenset(some[count:]) for some in (messages, by_place) for count in range(len(some) + 1)}


def interleaved(parts):
    if not any(parts):
        return [[]]
    return [[parts[index][0]] + rest for index in range(len(parts)) if parts[index]
            for rest in interleaved(parts[:index] + [parts[index][1:]] + parts[index + 1:])]


def renumbered(world, number):
    if world.number == number:
        return world
    world = world.copy()
    at_head = [device for device in world.devices.values() if device.version == world.number]
    world.keep(number, world.head)
    for device in at_head:
        device.version = number
    return world


def filled(world, seen):
    """Puts what is seen in the place of values that the documents leave open."""
    if not any(mail.ANY in entry.row for device in world.devices.values() for entry in device.know.values() if entry.row):
        return world
    world = world.copy()
    for name, device in world.devices.items():
        known = {}
        for place, entry in device.know.items():
            row = seen.get(name, {}).get(place[0], {}).get(place[1])
            if entry.row is not None and mail.ANY in entry.row and row is not None:
                known[entry] = entry._replace(row=row)
        if not known:
            continue
        device.know = {place: known.get(entry, entry) for place, entry in device.know.items()}
        device.pending = tuple(message._replace(entry=known.get(message.entry, message.entry)) for message in device.pending)
        if name == "w":
            world.head = {place: known.get(entry, entry) for place, entry in world.head.items()}
            world.versions = dict(world.versions)
            world.versions[world.number] = world.head
    return world
