"""Random statements, as an application writes them: operations whose SQL is literal, so that they can be run again and printed."""
import itertools

from clock import HOUR, SECOND, FORMS
from effects import quote

WORDS = ["apple", "0042", "1e3", "", "ein Fähnchen", "it''s", "7", "-0", "null", "漢字", "a b", "tab\there", "TRUE"]
CODES = ["u", "v", "w", "x", "07"]
TEXT_KEYS = ["k%d" % n for n in range(1, 12)] + ["K1", "é", "0", "a key", "-1"]
INTEGER_KEYS = list(range(1, 13)) + [0, -5, 9007199254740993, -9223372036854775808]

# Values of key columns, by type and collation. Some of them are one key by the collation, and some numbers differ by less than a real number can say.
KEYS = {
    ("text", "binary"): TEXT_KEYS,
    ("integer", "binary"): INTEGER_KEYS,
    ("text", "nocase"): ["ann", "Ann", "ANN", "bob", "Bob", "cy", "CY", "é", "É", "0", "a key", "A Key", "k1", "K1", "[", "{"],
    ("text", "rtrim"): ["a", "a ", "a   ", "b", "b ", " a", "", "  ", "c", "A", "d\t", "d\t "],
    ("blob", "binary"): [bytes.fromhex(digits) for digits in ("", "00", "0000", "00ff", "01", "6b31", "ff", "ff00", "616e6e", "fffe")],
    ("real", "binary"): [0.5, 1.0, -1.5, 0.1, 1e300, 9007199254740992.0, 3.0, 5e-324, -2.0, 1e-5],
}
# The few values that a part of a composite key has, so that keys meet.
PARTS = {
    ("text", "binary"): ["a", "B", "é", "ab"],
    ("integer", "binary"): [1, 2, -5, 9007199254740993],
    ("text", "nocase"): ["ann", "Ann", "bob", "BOB"],
    ("text", "rtrim"): ["a", "a ", "b", " "],
    ("blob", "binary"): [b"", b"\0", b"a", b"\xff"],
    ("real", "binary"): [1.0, 0.5, -1.5],
}
# Values of every storage class; some would be equal in a column that converts them.
ANYTHING = ["12", "12.0", "'12'", "x'3132'", "''", "x''", "0", "0.0", "'0042'", "'1e3'", "1e300", "9e999", "-9e999", "9007199254740993",
            "-9223372036854775808", "0.1", "'{\"base64\":\"AA==\"}'", "'Infinity'", "x'00ff'"]


class Writer:
    """Makes operations for one schema. `moment` is the writing device's clock, in microseconds after the base; `turn` numbers the edits."""

    def __init__(self, chance, schema, without=()):
        self.chance, self.schema, self.without, self.turn = chance, schema, without, 0
        self.earlier = {}

    def saw(self, rows):
        """Remembers rows, so that an application can put one of their states back."""
        for name, table in rows.items():
            for key, row in table.items():
                states = self.earlier.setdefault((name, key), [])
                if row not in states:
                    states.append(row)

    def keys(self, table):
        """The values of the keys that statements use."""
        if len(table.keys) == 1:
            return [(value,) for value in KEYS[table.keys[0].type, table.keys[0].collation]]
        return list(itertools.product(*(PARTS[column.type, column.collation] for column in table.keys)))

    def timestamp(self, table, moment):
        """A timestamp as applications write them: right, in the past, in the future, or no time at all."""
        form = "%s_%s" % (table.column(table.timestamp).type, table.unit) if table.unit else self.chance.choice(FORMS)
        kind = self.chance.random()
        if kind < 0.55:
            offset = 0
        elif kind < 0.75:
            offset = -self.chance.choice([SECOND, 90 * SECOND, 3 * HOUR, 400 * 24 * HOUR])
        elif kind < 0.88 and "future" not in self.without:
            offset = self.chance.choice([SECOND, 90 * SECOND, 3 * HOUR, 9000 * 24 * HOUR])
        elif table.unit:
            return self.chance.choice(["0", "-1", "1", "4000000000000000000", "-4000000000000000000"])
        else:
            return quote(self.chance.choice(["", "yesterday", "2026-02-30T00:00:00Z", "1760000000", "2026-11-22 10:00:00"]))
        token = "@{%d:%s}" % (moment + offset, form)
        return token if table.unit else quote(token)

    def value(self, table, column, moment, rows):
        chance = self.chance
        if column.optional and chance.random() < 0.25:
            return "NULL"
        if column.name == table.timestamp:
            return self.timestamp(table, moment)
        if column.unique:
            return quote(chance.choice(CODES))
        self.turn += 1
        return {
            "text": lambda: quote("%s %d" % (chance.choice(WORDS).replace("''", "'"), self.turn)) if chance.random() < 0.9 else quote(chance.choice(WORDS)),
            "integer": lambda: str(chance.choice([0, 1, 42, self.turn, 2 ** 53 + 1])),
            "real": lambda: chance.choice(["0.1", "1e300", "-0.5", "3.0", "%d.25" % self.turn]),
            "boolean": lambda: chance.choice(["0", "1"]),
            "json": lambda: quote(chance.choice(['{"a": [1, 2.50]}', "[]", '"%d"' % self.turn, "null", '{"b":{"c":true}}'])),
            "blob": lambda: "x'%s'" % chance.choice(["", "00ff", "%04x" % self.turn]),
            "any": lambda: chance.choice(ANYTHING + [str(self.turn), "'%d'" % self.turn]),
        }[column.type]()

    def reference(self, table, rows):
        """The columns of a foreign key with values: mostly a parent that is there, perhaps in another case."""
        parent, chance = self.schema.table(table.parent.table), self.chance
        if all(table.column(name).optional for name in table.parent.columns) and chance.random() < 0.25:
            return {name: "NULL" for name in table.parent.columns}
        there = [row[:len(parent.keys)] for row in rows.get(parent.name, {}).values()]
        key = chance.choice(there if there and chance.random() < 0.85 else self.keys(parent))
        if chance.random() < 0.2:
            key = self.alike(parent, key)
        result = {name: quote(value) for name, value in zip(table.parent.columns, key)}
        if len(result) > 1 and chance.random() < 0.1:
            name = chance.choice(list(result))
            result[name] = "NULL" if table.column(name).optional else quote(chance.choice(self.keys(parent))[table.parent.columns.index(name)])
        return result

    def alike(self, table, key):
        """Other values that name the same entity, where the key's collations have some."""
        return self.chance.choice([other for other in self.keys(table) if table.identity(other) == table.identity(key)] or [key])

    def values(self, table, moment, rows, key=None):
        refers = self.reference(table, rows) if table.parent else {}
        if key is None:
            key = self.chance.choice(self.keys(table))
            # A part of the key may be the reference.
            parts = [refers.get(name, quote(value)) for name, value in zip(table.key_names(), key)]
        else:
            parts = [quote(value) for value in key]
        return parts + [refers[column.name] if column.name in refers else self.value(table, column, moment, rows) for column in table.columns]

    def settings(self, table, moment, rows):
        """Column and value pairs of an UPDATE: one column or more; the timestamp often, but not always."""
        columns = [column for column in table.columns if column.name != table.timestamp]
        chosen = self.chance.sample(columns, min(len(columns), self.chance.choice([1, 1, 2])))
        if table.timestamp and self.chance.random() < 0.6:
            chosen.append(table.column(table.timestamp))
        refers = {}
        if table.parent and any(column.name in table.parent.columns for column in chosen):
            refers = {name: value for name, value in self.reference(table, rows).items() if name not in table.key_names()}
        return list(refers.items()) + [(column.name, self.value(table, column, moment, rows)) for column in chosen if column.name not in refers]

    def where(self, table, key):
        return "WHERE " + " AND ".join("%s = %s" % (name, quote(value)) for name, value in zip(table.key_names(), key))

    def key_change(self, table, key, rows):
        """An UPDATE of the key: to other values, of one part alone, or of the case."""
        chance, parts = self.chance, list(key)
        alike = [other for other in self.keys(table) if table.identity(other) == table.identity(key) and other != tuple(key)]
        free = [other for other in self.keys(table) if table.identity(other) not in rows[table.name]]
        if alike and chance.random() < 0.4:
            wanted = chance.choice(alike)
        elif len(parts) > 1 and chance.random() < 0.6:
            index = chance.randrange(len(parts))
            wanted = tuple(chance.choice(self.keys(table))[index] if each == index else value for each, value in enumerate(parts))
        elif free:
            wanted = chance.choice(free)
        else:
            return None
        pairs = ["%s = %s" % (name, quote(new)) for name, old, new in zip(table.key_names(), key, wanted) if old != new]
        if not pairs:
            return None
        if table.timestamp and chance.random() < 0.2:
            pairs.append("%s = %s" % (table.timestamp, self.value(table, table.column(table.timestamp), self.moment, rows)))
        return {"do": "rename", "table": table.name, "sql": "UPDATE %s SET %s %s" % (table.name, ", ".join(pairs), self.where(table, key))}

    def ops(self, moment, rows):
        return [self.op(moment, rows)]

    def op(self, moment, rows):
        """One operation on a device whose rows are known."""
        chance = self.chance
        table = chance.choice(self.schema.tables)
        self.moment, width = moment, len(table.keys)
        there = [row[:width] for row in rows[table.name].values()]
        free = [key for key in self.keys(table) if table.identity(key) not in rows[table.name]]
        kind = chance.random()
        key = chance.choice(there) if there and chance.random() < 0.9 else chance.choice(self.keys(table))
        identity, at = table.identity(key), self.where(table, self.alike(table, key) if chance.random() < 0.3 else key)
        if kind < 0.24 or not there:
            values = self.values(table, moment, rows, chance.choice(free) if free and chance.random() < 0.9 else None)
            verb = "INSERT OR IGNORE" if chance.random() < 0.1 else "INSERT"
            return {"do": "insert", "table": table.name, "sql": "%s INTO %s VALUES(%s)" % (verb, table.name, ", ".join(values))}
        if kind < 0.52:
            pairs = ", ".join("%s = %s" % pair for pair in self.settings(table, moment, rows))
            return {"do": "update", "table": table.name, "sql": "UPDATE %s SET %s %s" % (table.name, pairs, at)}
        if kind < 0.66:
            return {"do": "delete", "table": table.name, "sql": "DELETE FROM %s %s" % (table.name, at)}
        if kind < 0.75:
            values = self.values(table, moment, rows, self.alike(table, key))
            if table.timestamp and identity in rows[table.name] and chance.random() < 0.4 and "repeat" not in self.without:
                values[table.position(table.timestamp)] = quote(rows[table.name][identity][table.position(table.timestamp)])
            return {"do": "replace", "table": table.name, "values": values,
                "sql": "INSERT OR REPLACE INTO %s VALUES(%s)" % (table.name, ", ".join(values))}
        if kind < 0.83:
            values = self.values(table, moment, rows, self.alike(table, key))
            names = [name for name in table.names()[width:] if not table.column(name).unique]
            names = chance.sample(names, min(2, len(names))) + (table.key_names() if chance.random() < 0.3 else [])
            pairs = ", ".join("%s = excluded.%s" % (name, name) for name in names)
            return {"do": "upsert", "table": table.name, "sql": "INSERT INTO %s VALUES(%s) ON CONFLICT(%s) DO UPDATE SET %s" % (
                table.name, ", ".join(values), ", ".join(table.key_names()), pairs)}
        change = self.key_change(table, key, rows) if kind < 0.91 else None
        if change:
            return change
        states = [row for row in self.earlier.get((table.name, identity), []) if row != rows[table.name].get(identity)]
        if kind < 0.94 and states and identity in rows[table.name]:
            pairs = ", ".join("%s = %s" % (name, quote(value)) for name, value in zip(table.names(), chance.choice(states)) if (name, "binary") not in [
                (column.name, column.collation) for column in table.keys])
            return {"do": "put back", "table": table.name, "sql": "UPDATE %s SET %s %s" % (table.name, pairs, at)}
        if kind < 0.97:
            return {"do": "bulk", "table": table.name, "sql": "UPDATE %s SET title = title || ' +%d'" % (table.name, self.turn)}
        return {"do": "touch", "table": table.name, "sql": "UPDATE %s SET title = title %s" % (table.name, at)}
