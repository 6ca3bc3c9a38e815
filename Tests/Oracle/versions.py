"""What restore, undo, replace, pin and prune do: docs/versions.md and docs/guards.md."""
from entries import Entry
from model import base, bring, corrected, distinct, import_head, later, publish, then


def live(entries):
    return {place: entry.row for place, entry in entries.items() if entry.row is not None}


def turned_into(world, name, wanted, clock, origin):
    """Changes that make a device's rows other ones: `wanted` is {(table, key): row}."""
    world = world.copy()
    device = world.devices[name]
    know, tracked, published = dict(device.know), set(device.tracked), base(world, name)
    for place in sorted(set(know) | set(wanted), key=repr):
        row, seen = wanted.get(place), know.get(place)
        if row == (seen.row if seen else None):
            continue
        # "Like any program's changes": by a row's old timestamp or by the clock, but later than what it replaces.
        lo, hi = later(0, clock, published.get(place))
        if place in tracked:
            hi = max(hi, seen.hi + 1)
        know[place] = Entry(row, lo, hi, (origin, 0))
        tracked.add(place)
    device.know, device.tracked = know, frozenset(tracked)
    return world


def frozen(rows):
    return tuple(sorted(rows.items(), key=repr))


def restored(world, name, number, now, origin):
    """What is new comes first, then the rows become those of a version."""
    result = []
    for between in bring(world, name, now):
        before = {frozen(live(world.devices[name].know)), frozen(live(between.devices[name].know))}
        after = turned_into(between, name, live(between.versions[number]), now, origin)
        if live(after.devices[name].know) == live(between.devices[name].know):
            # Nothing was changed: there is nothing that undo could bring back, or what it brought back before.
            result.append(after.copy())
        after.devices[name].undo = tuple(sorted(before, key=repr))
        result.append(after)
    return distinct(result)


def undone(world, name, now, origin):
    """The data that the last restore, replace or undo has replaced; which state that is, of those that could be meant, is seen afterwards."""
    result = []
    for between in bring(world, name, now):
        before = {frozen(live(world.devices[name].know)), frozen(live(between.devices[name].know))}
        for wanted in world.devices[name].undo or ():
            after = turned_into(between, name, dict(wanted), now, origin)
            after.devices[name].undo = tuple(sorted(before, key=repr))
            result.append(after)
    return distinct(result)


def replaced_cloud(world, name, now, origin):
    """The newest version becomes this device's data, whole."""
    after = world.copy()
    device = after.devices[name]
    mine, head = live(device.know), dict(world.head)
    highest = {place: entry.hi for place, entry in device.know.items()}
    device.know, device.tracked, device.version, device.latched = head, frozenset(), world.number, False
    device.undo = (frozen(live(head)),)
    after = turned_into(after, name, mine, now, origin)
    device = after.devices[name]
    device.know = {place: entry._replace(hi=max(entry.hi, highest.get(place, 0) + 1)) if place in device.tracked else entry
                   for place, entry in device.know.items()}
    result = publish(after, name, always=True) + publish(after, name)
    if mine == live(head):
        # The cloud has this device's data already.
        same = after.copy()
        same.devices[name].undo = world.devices[name].undo
        result += publish(same, name)
    return distinct(result)


def replaced_local(world, name, now):
    """The cloud's newest version, and nothing of what was changed here."""
    after = world.copy()
    device = after.devices[name]
    device.undo = (frozen(live(device.know)),)
    device.know, device.tracked, device.version, device.latched, device.aside = dict(world.head), frozenset(), world.number, False, {}
    return [after]


def pruned(world, name, now):
    world = world.copy()
    world.pruned = True
    return without_data(world, name, now)


def without_data(world, name, now):
    """A version that changes no data (a pin, a checkpoint): whether the device imported or published its changes first is not said."""
    def numbered(world):
        after = world.copy()
        device = after.devices[name]
        if device.version == world.number:
            device.version = world.number + 1
        after.keep(world.number + 1, world.head)
        return after
    brought = bring(world, name, now)
    sent = [after for between in brought for after in publish(between, name)]
    return distinct([world, numbered(world)] + brought + [numbered(each) for each in brought] + sent + [numbered(each) for each in sent])
