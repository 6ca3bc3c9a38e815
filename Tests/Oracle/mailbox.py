"""A writer and its readers: docs/messages.md. What a reader's changes become as messages, who wins at the writer, and how an answer ends them."""
from collections import namedtuple

import model
from entries import Entry, explore
from settle import Settlement

# What a reader tells: kind is "read", "row" (a bucket that was made or changed) or "deleted"; entry is the reader's change.
Message = namedtuple("Message", "id sender kind place entry based")


class Any:
    """A value that the documents leave open."""

    def __repr__(self):
        return "ANY"


ANY = Any()


def matches(wanted, seen):
    """Whether a row is as the model has it, which may leave values open."""
    if wanted is None or seen is None:
        return wanted is seen
    return all(one is ANY or one == other for one, other in zip(wanted, seen))


class Mail:
    """The positions of the columns that a mark touches."""

    def __init__(self, schema):
        self.table = schema.table("notifications")
        self.read, self.updated = self.table.position("readAt"), self.table.position("updatedAt")

    def is_mark(self, place, old, new):
        """Whether two rows of a notification differ in nothing but the mark."""
        if place[0] != "notifications" or old is None or new is None:
            return False
        return all(index in (self.read, self.updated) or one == other for index, (one, other) in enumerate(zip(old, new)))

    def marked(self, row, value):
        return tuple(value if index == self.read else ANY if index == self.updated else one for index, one in enumerate(row))


def base_row(world, name, place):
    entry = model.base(world, name).get(place)
    return entry.row if entry else None


# MARK: the reader

def import_reader(world, name, now):
    world = forgotten(corrected(world, name, now), name)
    if world.devices[name].version == world.number or world.number == 0:
        return [world]
    return model.distinct(explore(lambda chooser: imported(world.copy(), name, chooser), now))


def forgotten(world, name):
    """A row that was made and deleted between two syncs leaves nothing behind: another device's row of that key is taken as it is."""
    base, told = model.base(world, name), {message.place for message in world.devices[name].pending}
    gone = {place for place in world.devices[name].tracked if world.devices[name].know[place].row is None and place not in base and place not in told}
    if not gone:
        return world
    world = world.copy()
    device = world.devices[name]
    device.tracked = device.tracked - gone
    device.know = {place: entry for place, entry in device.know.items() if place not in gone}
    return world


def corrected(world, name, now):
    """What was told keeps its instant."""
    device = world.devices[name]
    told = {message.place: message.entry for message in device.pending}
    held = {place for place in device.tracked if told.get(place) == device.know[place] or (place, device.know[place]) in device.marks}
    if not held:
        return model.corrected(world, name, now)
    all_tracked = device.tracked
    after = world.copy()
    after.devices[name].tracked = all_tracked - held
    after = model.corrected(after, name, now).copy()
    after.devices[name].tracked = all_tracked
    return after


def imported(world, name, chooser):
    mail, device = Mail(world.schema), world.devices[name]
    before, know, tracked, lost, based = device.copy(), {}, set(), set(), dict(device.based)
    answered = {message for message in device.pending if message.id in world.answered}
    device.pending = tuple(message for message in device.pending if message not in answered)
    over = {message.place for message in answered if device.know.get(message.place) == message.entry and message.place not in partly(device)}
    old, told = model.base(world, name), before.pending
    for place in sorted(set(device.know) | set(world.head), key=repr):
        mine, theirs = device.know.get(place), world.head.get(place)
        if place not in device.tracked or place in over:
            kept = theirs
        elif theirs is None:
            kept = mine
            tracked.add(place)
        elif device.latched:
            kept = theirs
        elif theirs == old.get(place):
            kept = mine
            if mail.is_mark(place, theirs.row if theirs else None, mine.row):
                kept = mine._replace(row=mail.marked(mine.row, mine.row[mail.read]))
                device.pending = tuple(message._replace(entry=kept) if message.entry == mine else message for message in device.pending)
            tracked.add(place)
        else:
            seen = before.based[place] if place in before.based else marked_on(mail, place, mine, told, old.get(place))
            if world.pruned and seen is not None and mail.is_mark(place, base_row(world, name, place), mine.row) and all(one.entry != mine for one in told):
                # What the mark was made on is not known any longer; then the later change wins.
                world.open = world.open | {place}
            kept, still = met(world, name, place, mine, theirs, mail, chooser, old.get(place), seen)
            if still:
                tracked.add(place)
                if place[0] == "notifications" and all(message.entry != mine for message in told):
                    based[place] = seen
            elif mine.row != theirs.row and not mail.is_mark(place, base_row(world, name, place), mine.row):
                lost.add((name, place, mine.row, theirs.row))
        if kept is not None:
            know[place] = kept
    device.know, device.tracked = know, frozenset(tracked)
    device.based = {place: seen for place, seen in based.items() if place in tracked}
    settlement = Settlement(world, name, chooser, before, version_first=True)
    settlement.fight()
    settlement.settle()
    settlement.finish()
    for place in device.tracked:
        if isinstance(device.know[place].origin, tuple) and device.know[place].origin[0] == "revived":
            # Whether it is told, and what then becomes of the deletion, is not said.
            world.open = world.open | {place}
    device.version, device.latched = world.number, False
    if lost:
        world.lost = world.lost | lost
        world.note("lost edit")
    return world


def marked_on(mail, place, mine, told, old):
    """The `readAt` that a mark was made on: an earlier mark's, if one was told."""
    seen = old.row[mail.read] if place[0] == "notifications" and old is not None and old.row is not None else None
    for message in told:
        if message.place == place and message.kind == "read":
            if message.entry == mine:
                return message.based
            seen = message.entry.row[mail.read]
    return seen


def met(world, name, place, mine, theirs, mail, chooser, old, seen):
    """A reader's change and another state of the version: what is shown, and whether the change goes on."""
    if theirs is None:
        return mine, True
    if place in partly(world.devices[name]) and theirs.origin == mine.origin and (theirs.lo, theirs.hi) == (mine.lo, mine.hi):
        # The version has the change's own mark, and so its instant. What the mark left here is as late, and stays.
        return mine, True
    if mail.is_mark(place, old.row if old else None, mine.row):
        if theirs.row is None:
            return theirs, False
        # Earlier marks that wait for an answer come first: this one was made on top of them.
        waiting = [(message.entry, message.based) for message in world.devices[name].pending
                   if message.place == place and message.kind == "read" and message.entry != mine]
        kept = theirs
        for entry, based in waiting + [(mine, seen)]:
            if entry is not mine and entry.row[mail.read] == kept.row[mail.read]:
                continue
            if kept.row[mail.read] == based or wins(chooser, entry, kept):
                kept = Entry(mail.marked(kept.row, entry.row[mail.read]), max(entry.lo, kept.lo), max(entry.hi, kept.hi), entry.origin)
        return kept, kept is not theirs
    return (mine, True) if wins(chooser, mine, theirs) else (theirs, False)


def wins(chooser, mine, theirs):
    answers = sorted(model.compare(mine, theirs))
    return answers[chooser.choose(len(answers)) if len(answers) > 1 else 0] > 0


def tell(world, name):
    """Puts what was changed here and not told yet into the mailbox. A mark that says what the version says may be left out."""
    mail, device = Mail(world.schema), world.devices[name]
    told, published = {message.place for message in device.pending}, model.base(world, name)
    needless = {place for place in device.tracked if place[0] == "notifications" and place not in told and place in published
                and mail.is_mark(place, published[place].row, device.know[place].row) and published[place].row[mail.read] == device.know[place].row[mail.read]}
    if not needless:
        return [sent(world, name)]
    without = world.copy()
    device = without.devices[name]
    device.tracked, device.know = device.tracked - needless, device.know | {place: published[place] for place in needless}
    return [sent(world, name), sent(without, name)]


def sent(world, name):
    mail, world = Mail(world.schema), world.copy()
    device = world.devices[name]
    told = {message.place: message.entry for message in device.pending}
    for place in sorted(device.tracked, key=lambda place: in_order(device.know[place])):
        entry, old = device.know[place], base_row(world, name, place)
        if told.get(place) == entry or (place, entry) in device.silent:
            continue
        if place[0] == "notifications" and entry.row is not None and not mail.is_mark(place, old, entry.row):
            # What no message carries stays; a mark that was made with it travels alone.
            device.silent = device.silent | {(place, entry)}
            world.open = world.open | {place}
            based = marked_on(mail, place, None, device.pending, model.base(world, name).get(place))
            if old is None or entry.row[mail.read] == based:
                continue
            device.marks = device.marks | {(place, entry)}
            mailed(world, name, "read", place, entry, based)
            continue
        if entry.row is None:
            kind, based = "deleted", None
        elif place[0] == "notifications":
            kind, based = "read", marked_on(mail, place, None, device.pending, model.base(world, name).get(place))
            if place in device.based:
                # The message is about the version that the mark was made on.
                based = device.based[place]
                device.based = {other: seen for other, seen in device.based.items() if other != place}
            # The timestamp that goes with a mark is the message's.
            entry = entry._replace(row=mail.marked(entry.row, entry.row[mail.read]))
            device.know = device.know | {place: entry}
        else:
            kind, based = "row", None
        mailed(world, name, kind, place, entry, based)
        if place in told:
            world.note("message after message")
    return world


def mailed(world, name, kind, place, entry, based):
    """Puts a message into the mailbox."""
    world.sent += 1
    message = Message(world.sent, name, kind, place, entry, based)
    world.devices[name].pending += (message,)
    world.mail += (message,)
    world.note("message " + kind)


def partly(device):
    """The places whose change is more than the mark that was sent."""
    return {place for place, entry in device.silent if device.know.get(place) == entry}


def in_order(entry):
    """Changes are told in the order in which they were made."""
    step, index = entry.origin if isinstance(entry.origin, tuple) and isinstance(entry.origin[1], int) else (0, 0)
    return (step if isinstance(step, int) else 1_000_000, index)


# MARK: the writer

def apply_mail(world, name, now):
    """Applies or refuses every message that lies in the mailbox."""
    if not world.mail:
        return [world]
    return model.distinct(explore(lambda chooser: applied(world.copy(), name, now, chooser), now))


def applied(world, name, now, chooser):
    mail, device = Mail(world.schema), world.devices[name]
    know, tracked, published = dict(device.know), set(device.tracked), model.base(world, name)
    for message in sorted(world.mail, key=in_turn):
        place, entry, mine = message.place, message.entry, know.get(message.place)
        row, answer = decide(world, know, message, mine, mail, chooser)
        world.answers = dict(world.answers)
        world.answers[message.id] = answer
        world.note("message " + answer)
        if answer != "applied":
            continue
        if entry.hi > now + 1000:
            # Its change gets the writer's clock, so that what meets it later is decided by another time than the reader's.
            world.open = opened(world, place, mine)
        lo, hi = model.later(min(entry.lo, now), min(entry.hi, now), published.get(place))
        if message.kind == "read" and mine is not None:
            lo, hi = max(lo, mine.lo), max(hi, mine.hi + 1)
        elif mine is not None and place in tracked:
            hi = max(hi, mine.hi + 1)
        know[place] = Entry(row, lo, hi, entry.origin)
        tracked.add(place)
    world.mail, world.unpublished = (), True
    device.know, device.tracked = know, frozenset(tracked)
    return world


def opened(world, place, entry):
    """A place of which the documents leave the outcome open; and the bucket of a notification, for it may have to come back."""
    places = {place}
    if place[0] == "notifications" and entry is not None and entry.row is not None:
        places.add(("buckets", entry.row[world.schema.table("notifications").position("bucketId")]))
    return world.open | places


def in_turn(message):
    """The order in which messages are applied that lie in the mailbox together."""
    return message.kind == "deleted" and message.place[0] == "buckets", message.entry.lo


def decide(world, know, message, mine, mail, chooser):
    """The row that a message leads to, and whether it is applied or refused."""
    if message.kind == "read":
        if mine is None or mine.row is None:
            return None, "refused"
        if mine.row[mail.read] == message.based or (mine.row[mail.read] is ANY) or wins(chooser, message.entry, mine):
            return mail.marked(mine.row, message.entry.row[mail.read]), "applied"
        return None, "refused"
    if message.kind == "deleted" and message.place[0] == "buckets":
        column = mail.table.position("bucketId")
        if any(place[0] == "notifications" and entry.row is not None and entry.row[column] == message.place[1] for place, entry in know.items()):
            return None, "refused"
    if mine is not None and not wins(chooser, message.entry, mine):
        return None, "refused"
    return message.entry.row, "applied"


def publish_writer(world, name):
    """Publishes what is tracked, and the answers."""
    result = model.announce(world, name, world.unpublished)
    for after in result:
        after.unpublished, after.answered = False, frozenset(after.answers)
    return result

