"""The rules by which a device's edits meet a version. docs/internals/merge.md states them in words; this file is their exact form.

`rebase` puts the edits of one device on a version. Every device calls it to compute its tables from a new version and its own pending edits. A
publisher calls it to make the next version: first with its own edits, then with the edits of each reader. A view holds the rows that `rebase`
reads and writes. `FullView` searches all rows. `IndexedView` in indexed.py does the same with indexes, as the SQL does.
"""
from typing import NamedTuple


class Table(NamedTuple):
    columns: tuple              # without the key
    unique: tuple = ()          # each constraint is a tuple of columns
    references: tuple = ()      # (column, parent table): the column holds the parent's key, or None
    together: tuple = ()        # groups of columns that change as one: declared groups, and the columns of one CHECK, UNIQUE or reference
    orphan: str = None          # the column that is set to 1 in a row whose deletion was not made, or that was restored for a child
    editable: tuple = None      # what a reader may send: names of columns, "insert", "delete". None: everything
    timestamp: str = None       # the column that an application sets with others: a reader sends it with one of those, or alone

    def group(self, columns):
        """The columns, with those that change together with them."""
        result, size = set(columns), -1
        while size != len(result):
            size = len(result)
            for group in self.together:
                if not result.isdisjoint(group):
                    result.update(group)
        return result


class Row(NamedTuple):
    values: dict
    instants: dict              # for each column, when it was last changed
    born: int                   # when the row was inserted: tells apart two rows that had one key
    held: bool = False          # the row waits outside of the table: a UNIQUE value of it is taken, or its parent is missing

    @property
    def at(self):
        return max(self.instants.values())


class Tombstone(NamedTuple):
    at: int


class Edit(NamedTuple):
    """Everything that one device did to one key since the version that it had imported."""
    key: tuple                  # (table, key)
    base: object                # what the device had seen under the key: the instants of a row, the instant of a tombstone, or None
    changed: dict               # column -> instant; {None: instant} for a deletion
    values: dict                # the whole row after the edit, or None for a deletion
    born: int                   # of the row that the device had, or that it inserted
    held: bool = False          # the device's own table does not show the row
    loose: bool = False         # in the device's own table, a reference of this row, or to this deleted row, leads nowhere

    @property
    def at(self):
        return max(self.changed.values())

    @property
    def inserts(self):
        """The device inserted this row: it had not seen any row under the key."""
        return not isinstance(self.base, dict)


def seen(entry):
    """What an edit of this entry has as its base."""
    return entry.instants if isinstance(entry, Row) else entry.at if entry else None


def shown(entry):
    return isinstance(entry, Row) and not entry.held


def waits(entry):
    return isinstance(entry, Row) and entry.held


def combine(first, second):
    """Two edits of one row by one device, one after the other, as one edit."""
    if first.values is None or second.values is None:
        return second._replace(base=first.base)
    base = first.base
    if not first.inserts and not second.inserts:
        # Before the second edit, the device may have imported newer values of columns that the first edit did not set.
        base = {c: first.base.get(c) if c in first.changed and at == first.changed[c] else at for c, at in second.base.items()}
    values = {c: first.values[c] if c in first.changed and c not in second.changed else v for c, v in second.values.items()}
    return second._replace(base=base, changed={**first.changed, **second.changed}, values=values)


def consolidated(edits):
    """One edit for each row, in the order of the last edits."""
    result = {}
    for edit in edits:
        first = result.pop((edit.key, edit.born), None)
        result[edit.key, edit.born] = combine(first, edit) if first else edit
    return list(result.values())


class Losses(NamedTuple):
    """What loses, as (key, column, value); a deletion as (key, None, None)."""
    later: set                  # of the edits, to what the version has
    replaced: set               # of the version, to the edits: what their author had not seen
    misfits: set                # of the edits: it does not fit beside other rows


def merge(there, edit, horizon, restores=True):
    """One edit on what a version has under its key: the new entry, the part of the edit that stands or None, and what loses on each side.

    Rules 1 to 3. `restores`: whether the edit may bring back a row that the version has deleted.
    """
    key, values, changed = edit.key, edit.values, edit.changed

    def losing(columns):
        return {(key, c, values[c]) for c in columns if not isinstance(there, Row) or there.values[c] != values[c]}

    def replaced(columns):
        known = {} if edit.inserts else edit.base
        return {(key, c, there.values[c]) for c in columns if there.instants[c] != known.get(c) and not (values and values[c] == there.values[c])}

    if there is None and edit.base is not None:     # the tombstone was dropped
        there = Tombstone(edit.base if edit.inserts else horizon)
    if values is None:
        if not isinstance(there, Row):
            return (Tombstone(edit.at), edit, set(), set()) if not there or edit.at > there.at else (there, None, set(), set())
        if edit.born != there.born:     # the row that was deleted is gone already
            return there, None, set(), set()
        if edit.at > there.at:
            return Tombstone(edit.at), edit, set(), replaced(there.values)
        return there, None, {(key, None, None)}, set()
    if there is None:
        return Row(values, {c: changed.get(c, 0) for c in values}, edit.born), edit, set(), set()
    if isinstance(there, Tombstone):
        if edit.at <= there.at or not restores and not edit.inserts:
            return there, None, losing(changed), set()
        changed = {c: max(at, there.at + 1) for c, at in changed.items()}
        row = Row(values, {c: changed.get(c, there.at) for c in values}, edit.born)
        has_seen = edit.base == there.at if edit.inserts else there.at in edit.base.values()
        return row, edit._replace(changed=changed), set(), set() if has_seen else {(key, None, None)}
    if edit.inserts and edit.born != there.born:    # two insertions under one key
        if values == there.values:
            return there, None, set(), set()
        if edit.at <= there.at:
            return there, None, losing(values), set()
        row = Row(values, dict.fromkeys(values, edit.at), edit.born)
        return row, edit, set(), {(key, c, v) for c, v in there.values.items() if values[c] != v}
    if edit.born != there.born:         # the edit is about a row that is gone
        return there, None, losing(changed), set()
    won = {c: at for c, at in changed.items() if at > there.instants[c]}
    row = there._replace(values={c: values[c] if c in won else v for c, v in there.values.items()}, instants={**there.instants, **won})
    return row, edit._replace(changed=won, values=row.values) if won else None, losing(set(changed) - set(won)), replaced(won)


def place(schema, there, edit, yields, horizon, restores=True, marks=True):
    """`merge`, without what does not fit beside other rows (rule 4): `yields` are the columns that have to give way, {None} the whole edit."""
    if not yields:
        return *merge(there, edit, horizon, restores), set()
    if not shown(there):                # a new row: held
        entry, stands, *lost = merge(there, edit, horizon, restores)
        return entry._replace(held=True) if stands and isinstance(entry, Row) else entry, stands, *lost, set()
    table, key = schema[edit.key[0]], edit.key
    if edit.values is None:             # the row stays, marked
        entry, stands = there, None
        if table.orphan and marks:
            mark = Edit(key, there.instants, {table.orphan: edit.at}, {**there.values, table.orphan: 1}, there.born)
            entry, stands, _, _ = merge(there, mark, horizon)
        return entry, stands, set(), set(), {(key, None, None)}
    another = edit.inserts and edit.born != there.born
    columns = set(edit.values) if another else table.group(yields)
    misfits = {(key, c, edit.values[c]) for c in columns if (another or c in edit.changed) and edit.values[c] != there.values[c]}
    rest = {c: at for c, at in edit.changed.items() if c not in columns}
    if not rest:
        return there, None, set(), set(), misfits
    return *merge(there, edit._replace(changed=rest), horizon), misfits


def rebase(view, edits, horizon=0, own=None, restores=lambda edit: True, marks=True):
    """Puts the edits of one device on a version: the edits that stand, and what loses. The view then has the result.

    `restores` says of an edit whether it may bring back a row that the version has deleted, `marks` whether a row whose deletion is not made is marked (a
    reader leaves that to the publisher). `own` is what the device had before. A parent that the version has deleted, and that a standing edit needs, is restored from there.
    """
    schema, last, dropped = view.schema, {}, set()
    for edit in edits:                  # of two rows that the device had under one key, the last
        first = last.pop(edit.key, None)
        if first and first.values:
            dropped |= {(edit.key, c, first.values[c]) for c in first.changed}
        last[edit.key] = edit
    edits = last
    yielding = {key: {None} for key, e in edits.items() if e.held and not shown(view.version(key))}
    while True:
        standing, losses = {}, Losses(set(dropped), set(), set())
        for key, edit in edits.items():
            entry, stands, *lost = place(schema, view.version(key), edit, yielding.get(key), horizon, restores(edit), marks)
            for found, more in zip(losses, lost):
                found |= more
            if stands:
                standing[key] = stands
                view.put(key, entry)
        view.release()
        taken, orphans, needed, returns, order = {}, {}, {}, {}, {key: n for n, key in enumerate(edits)}
        for key, edit in standing.items():
            row, there = view.get(key), view.version(key)
            if shown(row):
                for rival, columns in view.rivals(key):
                    if shown(there) and all(there.values[c] == row.values[c] for c in columns):
                        continue        # the version's own value
                    before = view.version(rival)
                    published = shown(before) and all(before.values[c] == row.values[c] for c in columns)
                    # Of two own rows, SQLite accepted the one that was written later, so the other one was not in the table.
                    if rival not in standing or published or order[rival] > order[key]:
                        taken.setdefault(key, set()).update(columns)
                for column, parent in view.missing(key):
                    if edit.loose or shown(there) and there.values[column] == row.values[column]:
                        continue
                    gone = standing.get(parent)
                    if gone and gone.values is None and gone.loose:
                        continue
                    if own and shown(own.get(parent)) and not isinstance(view.version(parent), Row) and parent not in edits:
                        returns[parent] = restored(schema, parent, view.version(parent), own[parent], horizon)
                    else:
                        orphans.setdefault(key, set()).add(column)
            elif shown(there) and not edit.loose and any(not (c in standing and standing[c].loose) for c in view.children(key)):
                needed[key] = {None}
        more = taken or orphans or not returns and needed       # one kind after the other
        if not more and not returns:
            return list(standing.values()), losses
        for key, columns in more.items() if more else ():
            yielding.setdefault(key, set()).update(columns)
        if not more:
            edits |= returns
        view.undo()


def restored(schema, key, there, row, horizon):
    """A parent that a child needs: an edit of all of its columns, 1 us after the deletion."""
    orphan, at = schema[key[0]].orphan, (there.at if there else horizon) + 1
    return Edit(key, {}, dict.fromkeys(row.values, at), {**row.values, orphan: 1} if orphan else row.values, row.born)


class FullView:
    """A version with edits on it. Every question searches all rows."""

    def __init__(self, schema, rows):
        self.schema, self.start, self.rows = schema, rows, dict(rows)

    def version(self, key):
        return self.start.get(key)

    def get(self, key):
        return self.rows.get(key)

    def put(self, key, entry):
        self.rows[key] = entry

    def undo(self):
        self.rows = dict(self.start)

    def rivals(self, key):
        """The shown rows that have a UNIQUE value of a row."""
        row = self.rows[key].values
        for columns in self.schema[key[0]].unique:
            value = [row[c] for c in columns]
            if None not in value:
                for other, entry in self.rows.items():
                    if other[0] == key[0] and other != key and shown(entry) and [entry.values[c] for c in columns] == value:
                        yield other, columns

    def missing(self, key):
        """The references of a row to rows that are not shown."""
        for column, parent in self.schema[key[0]].references:
            value = self.rows[key].values[column]
            if value is not None and not shown(self.rows.get((parent, value))):
                yield column, (parent, value)

    def children(self, key):
        """The shown rows that refer to a key."""
        return {child for child, entry in self.rows.items() if child != key and shown(entry)
                and any(parent == key[0] and entry.values[c] == key[1] for c, parent in self.schema[child[0]].references)}

    def release(self):
        """Shows held rows that fit, the earliest first, each with the held parents that it needs (rule 5)."""
        again = True
        while again:
            again = False
            for key in sorted((k for k, e in self.rows.items() if waits(e)), key=lambda k: (self.rows[k].at, k)):
                before, rest, fits = dict(self.rows), [key], waits(self.rows[key])
                while fits and rest:
                    k = rest.pop()
                    if shown(self.rows.get(k)):
                        continue
                    fits = waits(self.rows.get(k))
                    if fits:
                        self.rows[k] = self.rows[k]._replace(held=False)
                        fits = not any(self.rivals(k))
                        rest += [parent for _, parent in self.missing(k)]
                if fits:
                    again = True
                else:
                    self.rows = before
