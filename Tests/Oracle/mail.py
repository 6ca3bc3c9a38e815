"""Messages of readers: what may be in them, by the policies of the tables (docs/messages.md, "Which tables readers may edit" and "What travels")."""
from collections import namedtuple

# What a reader tells: kind is "patch", "row" (a row that was made or changed) or "deleted"; entry is the reader's change.
# `based` has, of a patch, the position of each column that it sets and the value that the reader saw there.
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
    """What the policies of a schema's tables permit."""

    def __init__(self, schema):
        self.schema = schema

    def policy(self, place):
        return self.schema.table(place[0]).messages

    def columns(self, place):
        """The positions of the columns that a reader may change by themselves."""
        table = self.schema.table(place[0])
        return tuple(table.position(name) for name in table.messages.patch)

    def stamp(self, place):
        table = self.schema.table(place[0])
        return table.position(table.timestamp) if table.timestamp else None

    def is_patch(self, place, old, new):
        """Whether two rows differ in nothing but columns that a message carries by themselves, and the timestamp."""
        columns = self.columns(place)
        if not columns or old is None or new is None:
            return False
        return all(index in columns or index == self.stamp(place) or one is ANY or one == other for index, (one, other) in enumerate(zip(old, new)))

    def values(self, place, row):
        """The values of those columns, by position."""
        return {index: row[index] for index in self.columns(place)}

    def changed(self, place, row, seen):
        """What a patch sets: each column and the value that the reader saw. Of a column that was reverted, or changed to what it was, that one, if it is the only one."""
        columns = self.columns(place)
        return tuple((index, seen[index]) for index in columns if row[index] != seen[index]) or (((columns[0], seen[columns[0]]),) if len(columns) == 1 else ())

    def patched(self, place, row, values):
        """A row with some values, and a timestamp that is the message's or the row's own."""
        return tuple(values[index] if index in values else ANY if index == self.stamp(place) else one for index, one in enumerate(row))
