"""The rules of docs/sync.md, written from that page: instants, last write wins, deletions, imports, versions.

A model is a *world*: what each device and the cloud have. Where the page leaves open what happens (a run that was killed may have got to one point
or another; two instants are too near one another to be told apart), a step leads to several worlds, and what is seen afterwards removes those that
it contradicts. When none is left, the command did what no reading of the page allows.
"""
from entries import Entry, TooOpen
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
    published = base(world, name)

    def stays(place, entry):
        """The deletion of a row that is set aside keeps the row's instant, by which the row can return; a revived parent is at *s* + 2 us."""
        if place in device.aside and entry.origin[:1] == ("displaced",):
            return True
        return entry.origin[:1] == ("revived",) and place in published and entry.hi <= published[place].hi + 2

    ahead = [place for place in (() if device.latched else device.tracked) if device.know[place].hi >= now + 1000 and not stays(place, device.know[place])]
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


# MARK: versions

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


def pruned(world, name, now):
    sent = announce(corrected(world, name, now), name)
    result = distinct([each for between in [world] + sent for each in (between.copy(), numbered(between, name))])
    for each in result:
        each.pruned = True
    return result


def numbered(world, name):
    after = world.copy()
    device = after.devices[name]
    if device.version == world.number:
        device.version = world.number + 1
    after.keep(world.number + 1, world.head)
    return after


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
    device.know, device.tracked, device.version, device.latched = know, frozenset(know), None, True
    return world
