"""The view of rules.py that a database keeps: an import touches the changed keys, the device's own edits, and the rows that these meet in an index.

    rows                the application's table (shown rows), the table of held rows, and the tombstones
    unique, children    the application's UNIQUE indexes, and an index on each reference
    watchers            for each held row, the keys that decide whether it fits: the row is tried again only if one of them changes
    before              what the version has for the keys that edits have changed

With C changed keys, E own edits, W held rows that watch one of these keys and d constraints in a table of n rows, an import costs
O((C + (E + W) * d) * log n) in each round of `rebase`. There are two rounds, and one more for each edit that gives way because another one did.
Without own edits there is no round: the changed rows are written as they are.
"""
from heapq import heapify, heappop, heappush
from rules import shown, waits


class IndexedView:
    def __init__(self, schema):
        self.schema, self.rows, self.unique, self.references = schema, {}, {}, {}
        self.watchers, self.watched, self.before, self.tried, self.touched = {}, {}, {}, set(), 0

    def advance(self, changes):
        """A new version, by the entries that changed. Takes the edits on the old one back."""
        self.undo(changes)

    def undo(self, changes={}):
        """Back to the version: ROLLBACK TO. Then the held rows that this may concern watch other keys."""
        for key, entry in {**self.before, **changes}.items():
            self.write(key, entry)
        concerned = self.tried | set(self.before) | set(changes)
        for held in concerned | {h for key in concerned for h in self.watchers.get(key, ())}:
            if waits(self.rows.get(held)):
                self.watch(held, self.fit(held)[1])
        self.before, self.tried = {}, set()

    def version(self, key):
        return self.before[key] if key in self.before else self.rows.get(key)

    def get(self, key):
        return self.rows.get(key)

    def put(self, key, entry):
        self.before.setdefault(key, self.rows.get(key))
        self.write(key, entry)

    def write(self, key, entry):
        self.touched += 1
        old = self.rows.get(key)
        for members in self.indexed(key, old) if shown(old) else ():
            members.discard(key)
        self.watch(key, set())
        if entry is None:
            self.rows.pop(key, None)
        else:
            self.rows[key] = entry
        for members in self.indexed(key, entry) if shown(entry) else ():
            members.add(key)

    def indexed(self, key, entry):
        for columns in self.schema[key[0]].unique:
            value = tuple(entry.values[c] for c in columns)
            if None not in value:
                yield self.unique.setdefault((key[0], columns, value), set())
        for column, parent in self.schema[key[0]].references:
            if entry.values[column] is not None:
                yield self.references.setdefault((parent, entry.values[column]), set())

    def rivals(self, key):
        for columns in self.schema[key[0]].unique:
            value = tuple(self.rows[key].values[c] for c in columns)
            if None not in value:
                yield from ((other, columns) for other in sorted(self.unique.get((key[0], columns, value), ())) if other != key)

    def missing(self, key):
        for column, parent in self.schema[key[0]].references:
            value = self.rows[key].values[column]
            if value is not None and not shown(self.rows.get((parent, value))):
                yield column, (parent, value)

    def children(self, key):
        return self.references.get(key, set()) - {key}

    def watch(self, held, keys):
        for watched in self.watched.pop(held, ()):
            self.watchers[watched].discard(held)
        if keys:
            self.watched[held] = keys - {held}
            for watched in self.watched[held]:
                self.watchers.setdefault(watched, set()).add(held)

    def fit(self, key):
        """A held row with the held parents that it needs, or None if they do not fit; and all keys that decide this."""
        group, rest, deciding, fits, values = [], [key], set(), True, set()
        while rest:
            k = rest.pop()
            deciding.add(k)
            if k in group or shown(self.rows.get(k)):
                continue
            if not waits(self.rows.get(k)):
                fits = False
                continue
            group.append(k)
            rivals = {rival for rival, _ in self.rivals(k)}
            deciding |= rivals
            own = {(k[0], c, tuple(self.rows[k].values[x] for x in c)) for c in self.schema[k[0]].unique}
            own = {value for value in own if None not in value[2]}
            fits = fits and not rivals and not own & values
            values |= own
            rest += [parent for _, parent in self.missing(k)]
        return group if fits else None, deciding

    def release(self):
        """As FullView.release, of the held rows that an edit changed or that watch a changed key."""
        def candidates(keys):
            found = {h for k in keys for h in {k} | self.watchers.get(k, set())}
            return {(self.rows[h].at, h) for h in found if waits(self.rows.get(h))}
        later = candidates(self.before)
        while later:
            heap, later, done = list(later), set(), set()
            heapify(heap)
            while heap:
                place = heappop(heap)
                if place in done or shown(self.rows[place[1]]):
                    continue
                done.add(place)
                group, deciding = self.fit(place[1])
                self.tried.add(place[1])
                if group is None:
                    self.watch(place[1], deciding)
                    continue
                for k in group:
                    self.put(k, self.rows[k]._replace(held=False))
                for candidate in candidates(group):
                    if candidate > place:
                        heappush(heap, candidate)
                    else:
                        later.add(candidate)
