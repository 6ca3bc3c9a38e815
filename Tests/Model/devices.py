"""Devices on one log: how a writer, peers and readers use the rules of rules.py.

A publisher's commit and a reader's message share their bookkeeping. A device numbers the edits that it hands over. A commit states for each device
the number up to which its edits are decided. So a crash, a lost race, and a message that arrives twice, late or not at all need no rules of their own.
"""
from typing import NamedTuple
from rules import (Edit, FullView, Row, Tombstone, combine, consolidated, rebase, restored, seen, shown, waits)


class Commit(NamedTuple):
    author: str
    rows: dict                  # (table, key) -> Row or Tombstone
    answered: dict              # device -> the number of its last decided edit
    horizon: int = 0            # tombstones up to this instant may have been dropped


class Stricter(NamedTuple):
    required: tuple = ()        # columns that are NOT NULL
    unique: tuple = ()


EMPTY = Commit("", {}, {})


class Device:
    def __init__(self, name, schema, publishes, slot=1, stricter=None):
        self.name, self.schema, self.publishes = name, schema, publishes
        self.slot = slot            # 1 to 999: by how many microseconds an edit is later than what it replaces, if the clock is not
        self.stricter = stricter or {}      # table -> Stricter: constraints that only this device's own table has
        self.head, self.version = EMPTY, 0
        self.entries = []           # [number, Edit]: edits that no version has answered. None: new; 0: in a commit that lost its race
        self.number = 0
        self.journal = set()        # what lost: (key, column, value)
        self.intent = None          # (version, commit, losses): what this device was about to publish
        self.state = {}             # the version with the device's edits
        self.apart = set()          # shown rows of the state that do not fit into this device's own, stricter table

    @property
    def table(self):
        return {key: entry.values for key, entry in self.state.items() if self.shows(key)}

    def shows(self, key):
        return shown(self.state.get(key)) and key not in self.apart

    def handed_over(self):
        return {edit.key for number, edit in self.entries if number}

    # What the application does.

    def write(self, key, values, clock, stamp=None, held=False):
        """One row of a statement, as the triggers log it and consolidation reads it; values None: a deletion. `held`: `conflicts edit` or `drop`."""
        entry, table = self.state.get(key), self.schema[key[0]]
        there = entry if self.shows(key) or held and waits(entry) else None
        old = there.values if there else None
        if values is None and old is None or values is not None and old == values:
            return                  # no value changes: no edit
        if values is not None and old is None and isinstance(entry, Row):
            self.journal |= {(key, c, v) for c, v in entry.values.items() if values[c] != v}    # nobody here had seen that row
        changed = {None} if values is None else set(table.columns) if old is None else table.group(c for c in values if values[c] != old[c])
        earlier = [edit for _, edit in self.entries if edit.key == key]
        if old is not None:             # a value that waits for its answer and is not shown, because it does not fit
            self.journal |= {(key, c, e.values[c]) for e in consolidated(earlier) if e.values for c in e.changed
                             if e.values[c] != old[c] and (c in changed or values is None or e.born != there.born)}
        known = max([e.at for e in (entry, *earlier) if e], default=-self.slot)
        at = max(clock if stamp is None else min(stamp, clock), known + self.slot)
        instants = dict.fromkeys(changed, at)
        if earlier and earlier[-1].values is None:
            if there is None:
                born = earlier[-1].born     # deleted and inserted on this device: one edit of the row
            else:                   # its deletion was not made
                born = there.born
                if table.orphan and table.orphan not in instants:
                    instants[table.orphan] = there.instants[table.orphan]
        else:
            born = there.born if there else at
        edit = Edit(key, seen(entry) if there or not isinstance(entry, Row) else None, instants, values, born)
        if earlier and not self.last(key)[0]:
            previous = self.last(key)
            self.entries.remove(previous)
            if values is None and previous[1].inserts and previous[1].base is None:
                edit = None         # inserted and deleted before anybody else had the row: it leaves nothing
            elif previous[1].born == born:
                edit = combine(previous[1], edit)
        self.state = dict(self.state)
        self.apart = self.apart - {key}
        if edit:
            self.entries.append([None, edit])
        if values is not None:
            self.state[key] = Row(values, {**(there.instants if there else {}), **instants}, edit.born, held)
        elif edit or key in self.head.rows:
            self.state[key] = Tombstone(at)
        else:
            del self.state[key]

    def last(self, key):
        return next(entry for entry in reversed(self.entries) if entry[1].key == key)

    # What a run does.

    def look(self):
        """The last step of consolidation: which rows does the application's table not show, and which references does it leave dangling?"""
        view = FullView(self.schema, {k: e for k, e in self.state.items() if k not in self.apart})
        for entry in self.entries:
            number, edit = entry
            edit = edit._replace(held=edit.values is not None and waits(self.state.get(edit.key)))
            if number is None and edit.values is None and not self.shows(edit.key):
                edit = edit._replace(loose=bool(view.children(edit.key)))
            elif number is None and edit.values is not None and edit.key not in self.apart:     # a held row returns only with its parents
                edit = edit._replace(loose=self.shows(edit.key) and any(view.missing(edit.key)))
            entry[1] = edit

    def hand_over(self, clock):
        """Numbers the edits and returns them: for a commit, or for a message, which always has all edits that are not answered yet."""
        self.look()
        entries, self.entries = self.entries, []
        for number, edit in entries:
            rest = None
            if not number and not self.publishes:
                edit, rest = permitted(self.schema, edit, self.head.rows.get(edit.key))
            if edit and not number:
                # By the clock: a device that is restored or set up again does not use a number twice.
                number = self.number = max(self.number + 1, self.head.answered.get(self.name, 0) + 1, clock)
            self.entries += [[number, edit]] if edit else []
            self.entries += [[None, rest]] if rest else []
        return [(number, edit) for number, edit in self.entries if number]

    def take_in(self, log, version):
        """Imports a version: puts the device's edits on it."""
        self.look()
        commit, had = log[version - 1], self.state
        if self.intent and self.intent[0] <= version:
            if log[self.intent[0] - 1] is self.intent[1]:
                self.journal |= self.intent[2]
            self.intent = None
        decided = commit.answered.get(self.name, 0)
        settled = consolidated(edit for number, edit in self.entries if number and number <= decided)
        self.entries = [[0 if self.publishes and number else number, edit] for number, edit in self.entries if not number or number > decided]
        for edit in settled:
            self.journal |= self.refused(commit, edit)
            self.entries += [[None, parent] for parent in self.parents_for(commit, edit, had) if all(e.key != parent.key or e.at < parent.at for _, e in self.entries)]
        edits = consolidated(edit for _, edit in self.entries)
        standing, losses = self.rebase(commit, edits, had)
        attempted = {edit.key for number, edit in self.entries if number == 0}
        waiting = self.handed_over()        # the answer decides about these; the others are edits of this version from now on
        self.journal |= losses.later | {loss for loss in losses.replaced | losses.misfits if loss[0] not in waiting}
        self.entries = [entry for entry in self.entries if entry[1].key in waiting]
        for edit in standing:
            if edit.key not in waiting:
                there = commit.rows.get(edit.key)
                if isinstance(there, Row) and (not edit.inserts or edit.born == there.born):
                    edit = edit._replace(base=there.instants)
                elif isinstance(there, Tombstone) and edit.values and not edit.inserts:     # the row is back, and no older than its deletion
                    edit = edit._replace(base=dict.fromkeys(edit.values, there.at))
                self.entries.append([0 if edit.key in attempted else None, edit])
        self.head, self.version = commit, version
        if self.stricter:
            self.fit_own_table({key for key in had if shown(had[key])} - self.apart)

    def rebase(self, commit, edits, had):
        view = FullView(self.schema, commit.rows)
        result = rebase(view, edits, commit.horizon, had, self.restores, self.publishes)
        self.state = view.rows
        return result

    def restores(self, edit):
        """What a reader hands over brings no row back unless readers may insert rows."""
        return self.publishes or may_insert(self.schema, edit) or permitted(self.schema, edit)[1] is not None

    def refused(self, commit, edit):
        """The values of an answered edit that the version neither has nor replaced by later ones."""
        there = commit.rows.get(edit.key)
        if edit.values is None:
            return {(edit.key, None, None)} if isinstance(there, Row) and there.born == edit.born and there.at <= edit.at else set()
        if isinstance(there, Row):
            return {(edit.key, c, edit.values[c]) for c, at in edit.changed.items()
                    if (there.instants[c] < at or there.born != edit.born) and there.values[c] != edit.values[c]}
        gone = there.at if there else commit.horizon
        return {(edit.key, c, edit.values[c]) for c in edit.changed if edit.at > gone}

    def parents_for(self, commit, edit, had):
        """The answer left a row without a parent that the version deleted at the same time, and that this device still has and refers to."""
        own, there = had.get(edit.key), commit.rows.get(edit.key)
        if not waits(there) or there.born != edit.born or edit.loose or edit.held or not isinstance(own, Row):
            return
        view = FullView(self.schema, {**commit.rows, edit.key: own})
        if not any(view.rivals(edit.key)):
            for _, parent in view.missing(edit.key):
                if shown(had.get(parent)) and not isinstance(commit.rows.get(parent), Row):
                    one = restored(self.schema, parent, commit.rows.get(parent), had[parent], commit.horizon)
                    if self.publishes or may_insert(self.schema, one):
                        yield one

    def fit_own_table(self, before):
        """Rows that a stricter table cannot hold stand apart, on this device only, with their children. Rows that were there before come first."""
        self.apart, apart = set(), None
        while apart != self.apart:
            apart, used = set(self.apart), set()
            view = FullView(self.schema, {k: e for k, e in self.state.items() if k not in apart})
            for key in sorted((k for k in view.rows if shown(view.rows[k])), key=lambda k: (k not in before, view.rows[k].at, k)):
                values, own = view.rows[key].values, self.stricter.get(key[0], Stricter())
                taken = {(key[0], columns, *(values[c] for c in columns)) for columns in own.unique if None not in [values[c] for c in columns]}
                if any(values[c] is None for c in own.required) or taken & used or any(parent in apart for _, parent in view.missing(key)):
                    self.apart.add(key)
                else:
                    used |= taken

    def prepare(self, messages, clock, horizon=None):
        """The next commit and what loses by it: the device's edits, then those of each reader. None: there is nothing to publish."""
        own = self.hand_over(clock)
        answered, lost = dict(self.head.answered), set()
        if own:
            answered[self.name] = own[-1][0]
        rows = self.head.rows
        for sender, edits in [(self.name, own)] + sorted(messages.items()):
            new = own if sender == self.name else sorted({n: e for n, e in edits if n > answered.get(sender, 0)}.items())
            if not new:
                continue
            answered[sender] = new[-1][0]
            allowed = (e if sender == self.name else permitted(self.schema, e)[0] for _, e in new)
            view = FullView(self.schema, rows)
            lost = lost.union(*rebase(
                view, consolidated(e for e in allowed if e), self.head.horizon, self.state if sender == self.name else None,
                lambda e, sender=sender: sender == self.name or may_insert(self.schema, e))[1])
            rows = view.rows
        if rows == self.head.rows and {**answered, self.name: 0} == {**self.head.answered, self.name: 0}:
            self.journal |= lost
            self.entries = []
            return None
        limit = max(self.head.horizon, horizon or 0)
        if horizon:
            rows = {k: e for k, e in rows.items() if isinstance(e, Row) or e.at > limit}
        return Commit(self.name, rows, answered, limit), lost

    def publish(self, log, messages, clock, horizon=None, crash=None):
        """Puts the next commit if its number is free. False: the race is lost, so import and try again. `crash`: "before" or "after" the commit."""
        prepared = self.prepare(dict(messages), clock, horizon)
        if prepared is None:
            return True
        self.intent = (self.version + 1, *prepared)
        if crash == "before":
            return True
        if len(log) != self.version:
            return False
        log.append(prepared[0])
        if crash != "after":
            self.take_in(log, len(log))
        return True

    def accept_rollback(self, log):
        """The log went on without the version of this device, and a person takes the newest one. What the device showed is kept in a copy, which
        stands in the journal here; what no version had stays an edit."""
        self.journal |= {(key, c, v) for key, entry in self.state.items()
                         for c, v in (entry.values if isinstance(entry, Row) else {None: None}).items()}
        self.entries = [[None, edit] for _, edit in self.entries]
        self.head, self.version, self.intent = EMPTY, 0, None
        self.take_in(log, len(log))


def may_insert(schema, edit):
    editable = schema[edit.key[0]].editable
    return editable is None or "insert" in editable


def permitted(schema, edit, there=None):
    """What a reader may send of an edit, and the rest, which stays on the reader. Who brings back a row that the version (`there`) has deleted inserts it."""
    editable = schema[edit.key[0]].editable
    if editable is None:
        return edit, None
    if edit.values is None or edit.inserts or isinstance(there, Tombstone):
        return (edit, None) if ("delete" if edit.values is None else "insert") in editable else (None, edit)
    allowed = {c for c in edit.changed if c in editable}
    if allowed <= {schema[edit.key[0]].timestamp} and len(edit.changed) > len(allowed):
        return None, edit       # the timestamp stays with what it belongs to
    parts = [{c: at for c, at in edit.changed.items() if (c in allowed) == sent} for sent in (True, False)]
    return tuple(edit._replace(changed=part) if part else None for part in parts)
