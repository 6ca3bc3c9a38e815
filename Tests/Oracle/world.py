"""A world: what each device and the cloud have, by the model."""
from entries import LIMIT, TooOpen


class Device:
    """`know` has the entry of each (table, key), a tombstone where its deletion is known; `tracked` are the keys with changes of its own."""

    def __init__(self):
        self.know, self.tracked, self.version, self.latched = {}, frozenset(), None, True
        self.aside = {}
        # Of a reader: messages that no version has answered, and changes that no message carries.
        self.pending, self.silent, self.marks = (), frozenset(), frozenset()
        # Of a reader: the `readAt` that an unsent mark was made on, where an import has brought another version since.
        self.based = {}
        # Of a reader: the places whose change is more than a patch.
        self.whole = frozenset()
        # Of a reader: the places where a statement changed more than a patch can say, even if it is as it was by now.
        self.wide = frozenset()

    def copy(self):
        other = Device()
        other.know, other.tracked, other.version, other.latched = self.know, self.tracked, self.version, self.latched
        other.aside = self.aside
        other.pending, other.silent, other.marks, other.based = self.pending, self.silent, self.marks, self.based
        other.whole, other.wide = self.whole, self.wide
        return other

    def rows(self, schema):
        result = {table.name: {} for table in schema.tables}
        for (table, key), entry in self.know.items():
            if entry.row is not None:
                result[table][key] = entry.row
        return result

    def digest(self):
        def sorted_items(entries):
            return tuple(sorted(((table, repr(key), entry) for (table, key), entry in entries.items()), key=repr))
        return (sorted_items(self.know), tuple(sorted(self.tracked, key=repr)), self.version, self.latched, sorted_items(self.aside), self.pending,
                repr(sorted(self.based.items(), key=repr)))


class World:
    def __init__(self, schema, devices):
        self.schema = schema
        self.devices = {name: Device() for name in devices}
        self.head, self.number, self.versions = {}, 0, {}
        # The rows of each version, for two pasts may lead to one present, and a restore tells them apart.
        self.past = ()
        # What readers told, what became of it, and whether the writer has answers to publish; places of which the documents leave the outcome open.
        self.mail, self.answers, self.sent, self.unpublished, self.open = (), {}, 0, False, frozenset()
        # The last message of each sender about each place that was applied.
        self.applied = {}
        # The messages that a version answers: what was applied by a run that was killed is answered by a later one.
        self.answered = frozenset()
        # Whether a prune may have removed the version that a reader has.
        self.pruned = False
        self.lost = frozenset()   # changes that lost to others: (device, table, key, row, the row that won)
        self.happened = frozenset()  # what happened, for the figures

    def copy(self):
        other = World(self.schema, ())
        other.devices = {name: device.copy() for name, device in self.devices.items()}
        other.head, other.number, other.versions, other.past = self.head, self.number, self.versions, self.past
        other.mail, other.answers, other.sent, other.unpublished, other.open = self.mail, self.answers, self.sent, self.unpublished, self.open
        other.lost, other.happened, other.pruned, other.answered, other.applied = self.lost, self.happened, self.pruned, self.answered, self.applied
        return other

    def keep(self, number, head):
        """Makes a version."""
        self.head, self.number, self.versions = head, number, self.versions | {number: head}
        self.past += ((number, frozenset((place, entry.row) for place, entry in head.items() if entry.row is not None)),)

    def digest(self):
        return (tuple((name, device.digest()) for name, device in sorted(self.devices.items())), self.number, self.past,
                tuple(sorted(((key, entry) for key, entry in self.head.items()), key=repr)), self.mail, tuple(sorted(self.answers.items())),
                self.unpublished, tuple(sorted(self.answered)), tuple(sorted(self.open, key=repr)), repr(sorted(self.applied.items(), key=repr)))

    def note(self, *what):
        self.happened = self.happened | frozenset(what)


def distinct(worlds):
    """The worlds without doubles; of what happened on different ways to one world, only what happened on all of them is certain."""
    result = {}
    for world in worlds:
        other = result.setdefault(world.digest(), world)
        if other is not world and (other.lost, other.happened) != (world.lost, world.happened):
            both = other.copy()
            both.lost, both.happened = other.lost & world.lost, other.happened & world.happened
            result[world.digest()] = both
    if len(result) > LIMIT:
        raise TooOpen()
    return list(result.values())


def then(worlds, action):
    """Every world that an action leads to from each of some worlds."""
    return distinct(after for world in worlds for after in action(world))
