"""UNIQUE values, rows set aside and parents that come back: the tables of docs/sync.md, case by case (U1, P5, R3 … are its numbers)."""
from collections import namedtuple

from entries import Contradiction, Entry
from values import order

# A row that was set aside: its entry, the reason, and for `parentNeeded` the instant of its deletion is the entry's.
Aside = namedtuple("Aside", "entry reason")


class Settlement:
    """One import at one device, or one look whether something can return. A reader publishes nothing."""

    def __init__(self, world, name, chooser, before, imported=True, version_first=False, reader=False):
        self.world, self.name, self.chooser, self.before = world, name, chooser, before
        self.schema, self.device = world.schema, world.devices[name]
        self.head = world.head
        self.know, self.tracked = dict(self.device.know), set(self.device.tracked)
        self.aside = dict(self.device.aside)
        self.version_first, self.imported, self.reader = version_first, imported, reader

    def finish(self):
        self.device.know = {place: entry for place, entry in self.know.items() if entry is not None}
        self.device.tracked, self.device.aside = frozenset(self.tracked), self.aside

    # MARK: rows

    def there(self, place):
        entry = self.know.get(place)
        return entry is not None and entry.row is not None

    def live(self, table):
        return [(place, entry) for place, entry in self.know.items() if place[0] == table and entry is not None and entry.row is not None]

    def rivals(self, place, row):
        """The rows that an INSERT OR REPLACE would remove."""
        table = self.schema.table(place[0])
        columns = [table.position(name) for name in table.unique()]
        return [other for other, entry in self.live(place[0])
                if other != place and any(row[column] is not None and row[column] == entry.row[column] for column in columns)]

    def ranks_higher(self, one, other):
        """Whether the rank (instant, key) of the first is higher: each is (place, entry)."""
        if one[1].lo == one[1].hi == other[1].lo == other[1].hi:
            return order(one[0][1]) > order(other[0][1])
        return self.chooser.later(one, other)

    def is_earlier(self, one, other):
        if one == other or one.lo == one.hi == other.lo == other.hi:
            return False
        return self.chooser.later((None, other), (None, one))

    def put_aside(self, place, entry, reason):
        known = self.aside.get(place)
        # A device keeps one copy of a key: the later one.
        if known is None or not self.is_earlier(entry, known.entry):
            self.aside[place] = Aside(entry, reason)
        self.world.note("set aside: " + reason)

    def displace(self, place):
        """U2, and a rival of a row that returns: a deletion at the row's own instant."""
        entry = self.know[place]
        self.know[place] = Entry(None, entry.lo, entry.hi, ("displaced",) + place)
        self.tracked.add(place)

    def settle(self, returning_first=False):
        """Parents and rows that come back, in turn: a row that returns may displace the parent of others."""
        for _ in range(8):
            had = dict(self.know)
            if not returning_first:
                self.mend_parents()
            self.bring_back()
            returning_first = False
            if self.know == had:
                return

    # MARK: UNIQUE values

    def fight(self):
        for table in self.schema.tables:
            if table.unique():
                self.fight_in(table)

    def fight_in(self, table):
        waiting = [(place, entry) for place, entry in self.live(table.name)]
        if not any(self.rivals(place, entry.row) for place, entry in waiting):
            return
        self.world.note("UNIQUE clash")
        for place, _ in waiting:
            self.know[place] = None
        local = {place for place, _ in waiting if place in self.tracked}
        lost_local = set()
        while waiting:
            place, entry = self.highest(waiting, local)
            waiting.remove((place, entry))
            if not self.rivals(place, entry.row):
                self.know[place] = entry
                continue
            version = self.head.get(place)
            if place in local:
                # U1: no longer tracked. U3: what the version has of the key stays. U4: the version's row takes part again.
                local.discard(place)
                if self.reader and self.schema.table(place[0]).messages.patch:
                    # A patch is not set aside: it stays tracked, its message goes on, and the row has the version's values until the value is free.
                    self.world.open = self.world.open | {place}
                self.put_aside(place, entry, "valueTaken")
                self.tracked.discard(place)
                if version is not None and version.row is not None:
                    lost_local.add(place)
                    waiting.append((place, version))
                    if self.version_first:
                        # It ranks higher than the local rows that have their places already.
                        for other, entry in [(other, entry) for other, entry in self.live(table.name) if other in local]:
                            self.know[other] = None
                            waiting.append((other, entry))
                else:
                    self.know[place] = version
            else:
                if place not in lost_local:
                    self.put_aside(place, entry, "valueTaken")
                self.know[place] = entry
                self.displace(place)

    def highest(self, waiting, local):
        best = waiting[0]
        for each in waiting[1:]:
            if self.version_first and (each[0] in local) != (best[0] in local):
                best = best if each[0] in local else each
            elif self.ranks_higher(each, best):
                best = each
        return best

    # MARK: parents

    def orphans(self):
        """The children whose parent is not there and that are concerned."""
        found = []
        for table in self.schema.tables:
            if not table.parent:
                continue
            dangled = self.dangled_before(table)
            for place, entry in self.live(table.name):
                parent = self.schema.parent_of(table, entry.row)
                if parent is None or self.there(parent) or parent in dangled:
                    continue
                if place in self.tracked or parent in self.tracked:
                    found.append((place, parent))
        return sorted(found, key=repr)

    def dangled_before(self, table):
        """The missing parents of children that were concerned before the import already."""
        had = {place: entry.row for place, entry in self.before.know.items() if entry.row is not None}
        referred = {place: self.schema.parent_of(table, row) for place, row in had.items() if place[0] == table.name}
        return {parent for place, parent in referred.items() if parent not in had and (place in self.before.tracked or parent in self.before.tracked)}

    def mend_parents(self):
        for place, parent in self.orphans():
            if not self.there(place) or self.there(parent):
                continue
            known = self.last_known(parent)
            if self.reader and known is not None and all(rival in self.tracked for rival in self.rivals(parent, known)):
                for rival in self.rivals(parent, known):                       # P3
                    self.put_aside(rival, self.know[rival], "valueTaken")
                    self.tracked.discard(rival)
                    self.know[rival] = self.head.get(rival)
            if known is None or (parent in self.aside and self.aside[parent].reason != "parentNeeded"):
                self.child_aside(place)                                        # P4
            elif self.rivals(parent, known):
                gone = self.deletion(parent)
                self.put_aside(parent, Entry(known, gone.lo, gone.hi, gone.origin), "parentNeeded")   # P2
                self.child_aside(place)
            elif self.reader and parent in self.tracked and self.head.get(parent) is not None and self.head[parent].row is not None:
                self.know[parent] = self.head[parent]                          # P1, at a reader: whether its deletion was told is not said
                self.tracked.discard(parent)
                self.world.open = self.world.open | {parent}
                self.world.note("parent came back")
            else:
                gone = self.deletion(parent)
                self.know[parent] = Entry(orphaned(self.schema.table(parent[0]), known), gone.lo + 1, gone.hi + 1, ("revived",) + parent)   # P1
                self.tracked.add(parent)
                self.world.note("parent revived")

    def last_known(self, parent):
        had, version = self.before.know.get(parent), self.head.get(parent)
        if had is not None and had.row is not None:
            return had.row
        if parent in self.tracked and version is not None and version.row is not None:
            return version.row
        return None

    def deletion(self, parent):
        found = [entry for entry in (self.know.get(parent), self.before.know.get(parent), self.head.get(parent)) if entry is not None and entry.row is None]
        if not found:
            return Entry(None, 0, self.chooser.clock, ("clock",))
        return Entry(None, max(entry.lo for entry in found), max(entry.hi for entry in found), found[0].origin)

    def child_aside(self, place):
        """P5."""
        entry = self.know[place]
        self.put_aside(place, entry, "parentMissing")
        if place not in self.tracked:
            self.displace(place)
            return
        self.tracked.discard(place)
        version = self.head.get(place)
        self.know[place] = version
        if version is not None and version.row is not None and (self.parent_gone_here(place, version.row) or self.rivals(place, version.row)):
            parent = self.schema.parent_of(self.schema.table(place[0]), version.row)
            if not self.rivals(place, version.row) and self.can_be_revived(parent):
                # P1, at the next look.
                return
            self.displace(place)

    def can_be_revived(self, parent):
        known = self.last_known(parent)
        return known is not None and not self.rivals(parent, known) and (parent not in self.aside or self.aside[parent].reason == "parentNeeded")

    def parent_gone_here(self, place, row):
        """Whether a row of the version refers to a parent that a change made here took away."""
        return self.parent_missing(place, row) and self.schema.parent_of(self.schema.table(place[0]), row) in self.tracked

    def parent_missing(self, place, row):
        parent = self.schema.parent_of(self.schema.table(place[0]), row)
        return parent is not None and not self.there(parent)

    # MARK: coming back

    def bring_back(self):
        changed, turns = True, 0
        while changed and self.aside:
            changed, turns = False, turns + 1
            if turns > 100:
                # Three rows, of which each is later than the next one.
                raise Contradiction()
            waiting = [(place, aside.entry) for place, aside in self.aside.items() if aside.reason != "parentNeeded"]
            while waiting and not changed:
                best = waiting[0]
                for each in waiting[1:]:
                    best = each if self.ranks_higher(each, best) else best
                waiting.remove(best)
                changed = self.overtaken(*best) or self.come_back([best])
        for place, aside in list(self.aside.items()):
            if aside.reason == "parentNeeded" and (self.there(place) or not any(
                    other.reason == "parentMissing" and self.schema.table(waits[0]).parent and self.schema.table(waits[0]).parent.table == place[0]
                    for waits, other in self.aside.items())):
                del self.aside[place]

    def overtaken(self, place, entry):
        """R1."""
        now = self.know.get(place)
        if now is None or same_instant(now, entry):
            if now is None or now.row is None:
                return False
            gone = True
        else:
            gone = self.chooser.later((place, now), (place, entry))
        if gone:
            del self.aside[place]
            self.world.note("set aside, then overtaken")
        return gone

    def come_back(self, group):
        """Whether a row returns, with the parents that are set aside and that it needs."""
        place, entry = group[-1]
        table = self.schema.table(place[0])
        if table.parent and self.parent_missing(place, entry.row):
            parent = self.schema.parent_of(table, entry.row)
            aside = self.aside.get(parent)
            if aside is None:
                return False
            if aside.reason == "parentNeeded":
                if self.rivals(parent, aside.entry.row):
                    return False
                gone = self.deletion(parent)
                group = [(parent, Entry(orphaned(self.schema.table(parent[0]), aside.entry.row), gone.lo + 1, gone.hi + 1, ("revived",) + parent))] + group
            else:
                group = [(parent, aside.entry)] + group
        if self.reader and any(self.rivals(each[0], each[1].row) for each in group):
            return False
        if not all(self.ranks_higher(each, (rival, self.know[rival])) for each in group for rival in self.rivals(each[0], each[1].row)):
            return False
        for each in group:
            self.put_back(*each)
        return True

    def put_back(self, place, entry):
        for rival in self.rivals(place, entry.row):
            self.put_aside(rival, self.know[rival], "valueTaken")
            self.displace(rival)
        now = self.know.get(place)
        if now is not None and now.row is None and same_instant(now, entry):      # R3
            if place in self.tracked:
                version = self.head.get(place)
                self.know[place] = entry
                if version == entry:
                    self.tracked.discard(place)
                del self.aside[place]
                return
            entry = entry._replace(lo=entry.lo + 1, hi=entry.hi + 1)
        self.know[place] = entry
        self.tracked.add(place)
        self.aside.pop(place, None)
        self.world.note("came back")


def same_instant(one, other):
    return one.lo == other.lo and one.hi == other.hi


def orphaned(table, row):
    """The row with `isOrphan` true, where the table has it."""
    if "isOrphan" not in table.names():
        return row
    column = table.position("isOrphan")
    return row[:column] + (1,) + row[column + 1:]
