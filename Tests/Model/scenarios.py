"""What a user sees: one case of docs/internals/merge.md each, with its outcome. Prints one line if all hold."""
from devices import Device, Stricter
from rules import Table, shown, waits

SCHEMA = {"list": Table(("name", "color", "orphan"), (("name",),), (), (), "orphan"),
          "task": Table(("text", "done", "list", "lat", "lon"), (), (("list", "list"),), ({"lat", "lon"},))}
HOME, OTHER, TASK = ("list", "home"), ("list", "other"), ("task", 1)


class Zone:
    """Two peers a and b, and readers: each gets the first version, with one list and one task."""

    def __init__(self, *names, schema=SCHEMA, stricter=None):
        self.log, self.now, self.schema = [], 1_000_000, schema
        for name in ("a", "b", "reader") + names:
            setattr(self, name, Device(name, schema, name in "abc", stricter=stricter if name == "b" else None))
        self.write(self.a, HOME, name="home", color="red")
        self.write(self.a, TASK, text="sweep", list="home", lat=1, lon=1)
        self.sync(*(getattr(self, name) for name in ("a", "b", "reader") + names))

    def write(self, device, key, clock=None, **values):
        self.now += 1000
        row = {**dict.fromkeys(self.schema[key[0]].columns), **device.table.get(key, {}), **values}
        device.write(key, row, self.now if clock is None else clock)

    def delete(self, device, *keys):
        self.now += 1000
        for key in keys:
            device.write(key, None, self.now)

    def sync(self, *devices, **messages):
        for device in devices:
            self.now += 1000
            if self.log:
                device.take_in(self.log, len(self.log))
            if device.publishes:
                assert device.publish(self.log, messages, self.now)

    def message(self, device):
        self.now += 1000
        return device.hand_over(self.now)

    def row(self, key):
        entry = self.log[-1].rows.get(key)
        return entry.values if shown(entry) else "held" if waits(entry) else None


# Two columns of one row: both edits stay.
z = Zone()
z.write(z.a, TASK, text="mop")
z.write(z.b, TASK, done=1)
z.sync(z.b, z.a, z.b)
assert (z.row(TASK)["text"], z.row(TASK)["done"]) == ("mop", 1) and not z.a.journal | z.b.journal

# Columns that change together: one side stays, the other is in the journal.
z = Zone()
z.write(z.a, TASK, lat=2)
z.write(z.b, TASK, lon=3)
z.sync(z.a, z.b, z.a)
assert (z.row(TASK)["lat"], z.row(TASK)["lon"]) == (1, 3) and (TASK, "lat", 2) in z.b.journal

# Two new rows with one UNIQUE value: the published one stays, the other waits with its child, and both return when the value is free.
z = Zone()
z.write(z.a, ("list", "A"), name="work")
z.write(z.b, ("list", "B"), name="work")
z.write(z.b, ("task", 2), text="call", list="B")
z.sync(z.a, z.b, z.a, z.reader)
assert z.row(("list", "B")) == z.row(("task", 2)) == "held" and z.row(("list", "A"))["name"] == "work"
z.write(z.reader, ("list", "A"), name="office")
z.sync(z.a, reader=z.message(z.reader))
assert z.row(("list", "B"))["name"] == "work" and z.row(("task", 2))["list"] == "B"

# An edit that takes a UNIQUE value: that column loses, the other columns of the edit stay.
z = Zone()
z.write(z.b, OTHER, name="garden")
z.sync(z.b, z.a)
z.write(z.a, HOME, name="work")
z.write(z.b, OTHER, name="work", color="green")
z.sync(z.a, z.b)
assert z.row(OTHER) == {"name": "garden", "color": "green", "orphan": None} and (OTHER, "name", "work") in z.b.journal

# A name that lost, then another edit of the row: the second edit does not suffer from the first.
z = Zone()
z.write(z.a, OTHER, name="garden")
z.sync(z.a, z.reader)
z.write(z.a, HOME, name="work")
z.write(z.reader, OTHER, name="work")
z.message(z.reader)
z.sync(z.a, z.reader)
assert z.reader.table[OTHER]["name"] == "garden" and not z.reader.journal
z.write(z.reader, OTHER, color="green")
z.sync(z.a, reader=z.message(z.reader))
z.sync(z.reader)
assert z.row(OTHER) == {"name": "garden", "color": "green", "orphan": None} and (OTHER, "name", "work") in z.reader.journal

# A name that waits for its answer, because it does not fit, and whose row the reader then deletes: it is in the journal.
z = Zone()
z.write(z.a, OTHER, name="garden")
z.sync(z.a, z.reader)
z.write(z.a, HOME, name="work")
z.write(z.reader, OTHER, name="work")
z.message(z.reader)
z.sync(z.a, z.reader)
z.delete(z.reader, OTHER)
assert z.reader.journal == {(OTHER, "name", "work")}

# An exchange of UNIQUE values in one transaction of a reader.
z = Zone()
z.write(z.a, OTHER, name="garden")
z.sync(z.a, z.reader)
for key, name in ((HOME, None), (OTHER, "home"), (HOME, "garden")):
    z.write(z.reader, key, name=name)
z.write(z.a, HOME, color="blue")
z.sync(z.a, reader=z.message(z.reader))
assert z.row(HOME) == {"name": "garden", "color": "blue", "orphan": None} and z.row(OTHER)["name"] == "home"

# A parent is deleted, a child is added elsewhere: the parent stays or returns, marked.
for order in ("abab", "baba"):
    z = Zone()
    z.delete(z.a, TASK, HOME)
    z.write(z.b, ("task", 3), text="new", list="home")
    z.sync(*(getattr(z, name) for name in order))
    assert z.row(HOME)["orphan"] == 1 and z.row(("task", 3)) and z.row(TASK) is None, order

# A deletion, and a later edit elsewhere: the row returns. A clock that is far behind: an edit on top is later nevertheless.
z = Zone()
z.delete(z.a, TASK)
z.write(z.b, TASK, done=1)
z.sync(z.a, z.b, z.a)
assert z.row(TASK)["done"] == 1 and (TASK, None, None) in z.b.journal
z.write(z.a, TASK, clock=5, text="late")
z.sync(z.a)
assert z.row(TASK)["text"] == "late"

# Two edits of two columns, both later than a deletion: both stay.
z = Zone("c")
z.delete(z.a, TASK)
z.write(z.c, TASK, text="mop")
z.write(z.b, TASK, done=1)
z.sync(z.a, z.b, z.c)
assert (z.row(TASK)["text"], z.row(TASK)["done"]) == ("mop", 1)

# Two insertions under one key are never mixed; equal ones are one row.
z = Zone()
z.write(z.a, ("task", 9), text="a", done=0)
z.write(z.b, ("task", 9), text="b", done=1)
z.sync(z.a, z.b, z.a)
assert (z.row(("task", 9))["text"], z.row(("task", 9))["done"]) == ("b", 1) and (("task", 9), "text", "a") in z.b.journal
z = Zone()
for device in (z.a, z.b):
    z.write(device, OTHER, name="default")
z.sync(z.a, z.b)
z.write(z.a, OTHER, name="mine")
z.sync(z.a, z.b)
assert z.row(OTHER)["name"] == "mine" and not z.a.journal | z.b.journal

# A row that was deleted and inserted again as another one: an old copy, edited or deleted later elsewhere, does not touch it.
for deletes in (False, True):
    z = Zone()
    z.delete(z.a, TASK)
    z.sync(z.a)
    z.write(z.a, TASK, text="another", list="home")
    z.sync(z.a)
    if deletes:
        z.delete(z.b, TASK)
    else:
        z.write(z.b, TASK, text="old, edited")
    z.sync(z.b, z.a)
    assert z.row(TASK)["text"] == "another" and ((TASK, "text", "old, edited") in z.b.journal) == (not deletes)

# A change of a key is a deletion and an insertion. A later edit of the old key returns the old row, held if its UNIQUE value went to the new key.
z = Zone()
z.delete(z.a, TASK)
z.write(z.a, ("task", 7), text="sweep", list="home")
name = z.a.table[HOME]["name"]
z.a.write(HOME, None, z.now)
z.write(z.a, OTHER, name=name)
z.write(z.a, ("task", 7), list="other")
z.write(z.b, TASK, done=1)
z.write(z.b, HOME, color="blue")
z.sync(z.a, z.b, z.a)
assert z.row(OTHER)["name"] == "home" and z.row(HOME) == "held" and z.row(("task", 7))["list"] == "other" and z.row(TASK) == "held"

# A reader that is set up again under its old name: an answer to its earlier life decides none of its new edits.
z = Zone()
z.write(z.reader, TASK, done=1)
z.sync(z.a, reader=z.message(z.reader))
again = Device("reader", SCHEMA, False)
z.sync(again)
z.write(again, TASK, text="wipe")
z.sync(z.a, reader=z.message(again))
z.sync(again)
assert z.row(TASK)["text"] == "wipe" and not again.entries

# A tombstone that was dropped: an edit from before the horizon loses, an insertion comes in.
z = Zone()
z.write(z.b, TASK, text="mop")
z.write(z.b, ("task", 2), text="new", list="home")
z.delete(z.a, TASK)
assert z.a.publish(z.log, {}, z.now, horizon=z.now) and TASK not in z.log[-1].rows
z.sync(z.b, z.a)
assert z.row(TASK) is None and (TASK, "text", "mop") in z.b.journal and z.row(("task", 2))["text"] == "new"

# The application inserts under the key of a held row: its row replaces the held one, which goes to the journal.
z = Zone()
z.write(z.a, ("list", "A"), name="work")
z.write(z.b, ("list", "B"), name="work")
z.sync(z.a, z.b, z.a)
z.write(z.a, ("list", "B"), name="shop")
z.sync(z.a)
assert z.row(("list", "B"))["name"] == "shop" and (("list", "B"), "name", "work") in z.a.journal

# `conflicts edit` gives a held row a free value; `conflicts drop` deletes it.
for drop in (False, True):
    z = Zone()
    z.write(z.a, ("list", "A"), name="work")
    z.write(z.b, ("list", "B"), name="work")
    z.sync(z.a, z.b, z.a)
    z.a.write(("list", "B"), None if drop else {"name": "shop", "color": None, "orphan": None}, z.now + 1000, held=True)
    z.sync(z.a)
    assert z.row(("list", "B")) == (None if drop else {"name": "shop", "color": None, "orphan": None})

# A message that arrives twice, and an old file after a newer one.
z = Zone()
z.write(z.reader, TASK, done=1)
first = z.message(z.reader)
z.sync(z.a, reader=first)
z.write(z.a, TASK, done=0)
z.sync(z.a, reader=first + first)
z.write(z.reader, TASK, text="wipe")
z.sync(z.a, reader=z.message(z.reader) + first)
z.sync(z.reader)
assert (z.row(TASK)["done"], z.row(TASK)["text"]) == (0, "wipe") and not z.reader.entries

# A lost race records nothing: only the attempt that was published counts.
z = Zone()
z.write(z.a, TASK, text="of a")
z.write(z.b, TASK, text="of b")
z.a.take_in(z.log, len(z.log))
z.sync(z.b)
assert not z.a.publish(z.log, {}, z.now + 1000)
z.sync(z.a)
assert z.row(TASK)["text"] == "of b" and z.a.journal == {(TASK, "text", "of a")}

# A reader that may change "done" only: the rest of its edit stays with it, and is not sent.
z = Zone(schema={**SCHEMA, "task": SCHEMA["task"]._replace(editable=("done",))})
z.write(z.reader, TASK, done=1, text="mine")
z.delete(z.reader, HOME)
z.sync(z.a, reader=z.message(z.reader))
z.sync(z.reader)
assert (z.row(TASK)["done"], z.row(TASK)["text"]) == (1, "sweep") and z.reader.table[TASK]["text"] == "mine"

# A device whose own table has one more UNIQUE: the second row stands apart there, and only there.
z = Zone(stricter={"list": Stricter(unique=(("color",),))})
z.write(z.a, OTHER, name="garden", color="red")
z.sync(z.a, z.b, z.a)
assert OTHER in z.a.table and OTHER not in z.b.table and z.row(OTHER)
z.write(z.b, HOME, color="blue")
z.sync(z.b, z.a)
assert OTHER in z.b.table

# A database that is put back from a backup sends its old edits again, under another name: nothing happens twice.
z = Zone("restored")
z.write(z.reader, TASK, text="mop")
z.write(z.reader, ("task", 2), text="new", list="home")
z.restored.entries, z.restored.state = [list(e) for e in z.reader.entries], z.reader.state
z.sync(z.a, reader=z.message(z.reader))
z.write(z.a, TASK, text="newer")
z.delete(z.a, ("task", 2))
z.sync(z.a)
z.sync(z.a, restored=z.message(z.restored))
assert z.row(TASK)["text"] == "newer" and z.row(("task", 2)) is None

# A version that is gone: its author takes the newest one, what no version had is merged, and what only the missing one had is in a copy.
z = Zone()
z.write(z.b, TASK, text="mop")
private = list(z.log)
z.b.take_in(private, len(private))
z.b.publish(private, {}, z.now)
z.write(z.b, TASK, done=1)
z.write(z.a, TASK, lat=5)
z.sync(z.a)
z.b.accept_rollback(z.log)
z.sync(z.b, z.a)
assert (z.row(TASK)["text"], z.row(TASK)["done"], z.row(TASK)["lat"]) == ("sweep", 1, 5) and (TASK, "text", "mop") in z.b.journal

# Values that are there already: no edit, no version.
z = Zone()
count = len(z.log)
z.write(z.a, TASK, text="sweep")
z.sync(z.a, z.b, z.a)
assert len(z.log) == count
print("all scenarios hold")
