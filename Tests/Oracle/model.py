"""The rules of docs/sync.md, written from that page: instants, last write wins, deletions, imports, versions.

A model is a *world*: what each device and the cloud have. Where the page leaves open what happens (a run that was killed may have got to one point
or another; two instants are too near one another to be told apart), a step leads to several worlds, and what is seen afterwards removes those that
it contradicts. When none is left, the command did what no reading of the page allows.
"""
from entries import Entry, TooOpen, explore
from settle import Settlement
from world import Device, World, distinct, then


def compare(one, other):
    """Which of two changes of one entity wins: the set of possible answers, of 1, -1 and 0 (the same change)."""
    if one == other:
        return {0}
    if one.lo > other.hi:
        return {1}
    if other.lo > one.hi:
        return {-1}
    if one.lo == one.hi == other.lo == other.hi and (one.row is None) != (other.row is None):
        return {1 if one.row is None else -1}
    same = {0} if one.row == other.row else set()
    return same if same and one.lo == one.hi == other.lo == other.hi else same | {1, -1}


def later(lo, hi, seen):
    """An instant that is later than what it replaces."""
    return (lo, hi) if seen is None else (max(lo, seen.lo + 1), max(hi, seen.hi + 1))


def base(world, name):
    """What the version that a device has applied says of each entity."""
    version = world.devices[name].version
    return world.versions.get(version, {}) if version else {}


# MARK: edits

def edit(world, name, touches, clock, instant_of, origin):
    """An application's transaction: `clock` is the device's, in microseconds since 1970; `instant_of` reads a timestamp."""
    world = world.copy()
    device = world.devices[name]
    know, tracked, published = dict(device.know), set(device.tracked), base(world, name)
    for index, touch in enumerate(touches):
        place = (touch.table, touch.key)
        # The clock is noted in whole milliseconds, which may be cut.
        lo, hi = clock - 1000, clock
        own = own_time(world.schema.table(touch.table), touch, instant_of)
        if own is not None:
            lo, hi = min(own[0], lo), min(own[1], hi)
        lo, hi = later(lo, hi, published.get(place))
        before = know.get(place)
        sent = [message.entry for message in device.pending if message.place == place]
        for entry in sent:
            # What was sent counts as published until it is answered.
            lo, hi = later(lo, hi, entry)
        if before in sent:
            pass
        elif place in tracked and before.origin[2:] == ("unique",):
            # Its removal counts only if a run looked before it was there again.
            hi = max(hi, before.hi + 1)
        elif place in tracked and before.hi < clock + 1000:
            lo, hi = later(lo, hi, before)
        elif place in tracked and before.lo < clock + 1000:
            hi = max(hi, before.hi + 1)
        if touch.before and touch.after and is_wide(world.schema.table(touch.table), touch.before, touch.after):
            device.wide = device.wide | {place}
        know[place] = Entry(touch.after, lo, hi, (origin, index, "unique") if touch.kind == "replaced" else (origin, index))
        tracked.add(place)
    device.know, device.tracked = know, frozenset(tracked)
    return [world]


def is_wide(table, before, after):
    """Whether a statement changed more than the columns that a reader may change by themselves, and the timestamp, or none of them."""
    free = set(table.messages.patch) | {table.timestamp} if table.messages else set()
    different = {name for name, one, other in zip(table.names(), before, after) if one != other}
    return not different <= free or different <= {table.timestamp}


def own_time(table, touch, instant_of):
    """The timestamp of a row, where the statement changed it; None where it did not, or where it is none."""
    if touch.after is None or not table.timestamp:
        return None
    column = table.position(table.timestamp)
    before = touch.renamed or touch.before
    return None if before and before[column] == touch.after[column] else instant_of(touch.after[column], table.unit)


def corrected(world, name, now):
    """What a run does first: changes from a clock that ran ahead get the clock that is right now."""
    world = limited(world, name, now)
    device = world.devices[name]
    published = device.replaced if device.latched else base(world, name)
    changes = device.waiting if device.latched else device.tracked

    def stays(place, entry):
        """The deletion of a row that is set aside keeps the row's instant, by which the row can return; a revived parent is at *s* + 2 us."""
        if place in device.aside and entry.origin[:1] == ("displaced",):
            return True
        return entry.origin[:1] == ("revived",) and place in published and entry.hi <= published[place].hi + 2

    ahead = [place for place in changes if device.know[place].hi >= now + 1000 and not stays(place, device.know[place])]
    if not ahead:
        return world
    world = world.copy()
    device = world.devices[name]
    device.know = dict(device.know)
    for place in ahead:
        entry = device.know[place]
        lo, hi = later(now, now, published.get(place))
        for message in device.pending:
            if message.place == place:
                lo, hi = later(lo, hi, message.entry)
        if entry.lo < now + 1000:
            lo, hi = min(lo, entry.lo), max(hi, now + 1000)
        device.know[place] = entry._replace(lo=lo, hi=hi)
    return world


def limited(world, name, now):
    """Rows from before `init` are not later than the clock of the first run of their own device that reads them."""
    device = world.devices[name]
    late = [place for place in device.tracked if device.know[place].origin[2:] == ("joined",) and device.know[place].hi > now]
    if not late:
        return world
    world = world.copy()
    device = world.devices[name]
    device.know = device.know | {place: device.know[place]._replace(lo=min(device.know[place].lo, now), hi=now) for place in late}
    return world


# MARK: imports

def import_head(world, name, clock=0):
    """Brings the newest version to a device: for each entity the later of its own change and the version's, then what must fit into the tables."""
    if world.devices[name].version == world.number or world.number == 0:
        return [world]
    return distinct(explore(lambda chooser: imported(world.copy(), name, chooser), clock))


def imported(world, name, chooser):
    device = world.devices[name]
    before, lost, know, tracked, published = device.copy(), set(), {}, set(), base(world, name)
    for place in sorted(set(device.know) | set(world.head), key=repr):
        mine, theirs = device.know.get(place), world.head.get(place)
        if place not in device.tracked:
            kept = theirs
        elif theirs is None or (is_old_tombstone(theirs) and chooser.choose(2) == 1):
            kept = mine
            tracked.add(place)
        elif device.latched and place not in device.waiting:
            kept = theirs
            if mine.row != theirs.row:
                world.note("own row gave way")
        else:
            answers = sorted(compare(mine, theirs))
            answer = answers[chooser.choose(len(answers)) if len(answers) > 1 else 0]
            kept = mine if answer > 0 else theirs
            if answer > 0:
                tracked.add(place)
                if not device.latched and mine.row != theirs.row and not made_by_rule(mine):
                    # An edit that wins a tie counts as made on top of the version's.
                    kept = mine._replace(lo=max(mine.lo, theirs.lo + 1), hi=max(mine.hi, theirs.hi + 1))
                if (not device.latched and theirs != published.get(place) and mine.row != theirs.row and not made_by_rule(theirs)
                        and not are_both_old(theirs, published.get(place)) and not is_same_edit(theirs, published.get(place))):
                    lost.add((name, place, theirs.row, mine.row))
            elif mine.row != theirs.row and not device.latched and not made_by_rule(mine):
                # What a first import replaces is in a file beside the database.
                lost.add((name, place, mine.row, theirs.row))
        if kept is not None:
            know[place] = kept
    device.know, device.tracked = know, frozenset(tracked)
    settlement = Settlement(world, name, chooser, before, version_first=device.latched)
    settlement.fight()
    settlement.settle()
    settlement.finish()
    device.version, device.latched, device.waiting, device.replaced = world.number, False, {}, {}
    if lost:
        world.lost = world.lost | lost
        world.note("lost edit")
    return world


def is_old_tombstone(entry):
    """Whether a deletion may be older than 90 days, as that of a row without any instant is: versions do not keep it."""
    return entry.row is None and entry.lo == 0


def are_both_old(entry, seen):
    """Whether neither row may have an instant: then nothing tells the one from the other, and an edit counts as made on top of it."""
    return seen is not None and seen.row is not None and entry.lo == 0 and seen.lo == 0


def is_same_edit(entry, seen):
    """Whether a row has only come back since, a microsecond later: who edited the one has seen the other."""
    return seen is not None and seen.origin == entry.origin and seen.row == entry.row


def made_by_rule(entry):
    """A row that gave way has a deletion, and a revived row is as it was before its deletion: both are nobody's edit."""
    return entry.origin[:1] in (("displaced",), ("revived",))


# MARK: versions

def publish(world, name, always=False, clock=0):
    """Publishes what is tracked, if anything is, after what was set aside has come back where it can."""
    return [after for between in bring_back(world, name, clock) for after in announce(between, name, always)]


def bring_back(world, name, clock=0):
    """What a run does before it publishes, also one that may not publish then: what was set aside returns where it can."""
    return explore(lambda chooser: returned(world.copy(), name, chooser), clock) if world.devices[name].aside else [world]


def returned(world, name, chooser):
    settlement = Settlement(world, name, chooser, world.devices[name].copy(), imported=False)
    settlement.settle(returning_first=True)
    settlement.finish()
    return world


def announce(world, name, always=False):
    device = world.devices[name]
    if not device.tracked and not always and not (device.latched and world.number == 0):
        return [world]
    world = world.copy()
    device = world.devices[name]
    head = dict(world.head)
    for place in device.tracked:
        head[place] = device.know[place]
    world.keep(world.number + 1, head)
    device.tracked, device.version, device.latched = frozenset(), world.number, False
    return [world]


def export(world, name, now):
    return publish(corrected(world, name, now), name)


def bring(world, name, now):
    return import_head(corrected(world, name, now), name)


# MARK: setting up

def unnoticed(world, name, touches, clock, origin):
    """A transaction in a database that is not set up: nothing is tracked."""
    world = world.copy()
    device = world.devices[name]
    know = dict(device.know)
    for touch in touches:
        know.pop((touch.table, touch.key), None)
        if touch.after is not None:
            know[(touch.table, touch.key)] = Entry(touch.after, 0, clock, (origin, 0))
    device.know = know
    return world


def joined(world, name, clock, instant_of, origin):
    """`init`: the rows that are there are changes from before the latch; their instants are their timestamps, never later than the clock of the first
    run that reads them (`corrected`)."""
    world = world.copy()
    device = world.devices[name]
    know = {}
    for (place, entry) in device.know.items():
        table = world.schema.table(place[0])
        own = instant_of(entry.row[table.position(table.timestamp)], table.unit) if table.timestamp else None
        know[place] = Entry(entry.row, 0 if own is None else own[0], clock if own is None else own[1], (origin, 0, "joined"))
    for place, entry in device.waiting.items():
        # An edit that waited since a detach keeps its instant; its values are what the table has now.
        row = device.know[place].row if place in device.know else None
        know[place] = entry._replace(row=row)
    device.know, device.tracked, device.version, device.latched = know, frozenset(know), None, True
    return world


def left(world, name):
    """`detach`: the tables stay."""
    world = world.copy()
    device = world.devices[name]
    device.waiting = {place: device.know[place] for place in device.tracked if not device.latched}
    published = base(world, name)
    device.replaced = {place: published[place] for place in device.waiting if place in published}
    device.know = {place: entry for place, entry in device.know.items() if entry.row is not None}
    device.tracked, device.version, device.latched, device.undo, device.aside = frozenset(), None, True, None, {}
    # The journal of edits that lost goes with it, into a file beside the database.
    world.lost = frozenset(each for each in world.lost if each[0] != name)
    return world
