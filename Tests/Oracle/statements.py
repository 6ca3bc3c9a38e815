"""Random statements, as an application writes them: operations whose SQL is literal, so that they can be run again and printed."""
from clock import HOUR, SECOND, FORMS
from effects import quote

WORDS = ["apple", "0042", "1e3", "", "ein Fähnchen", "it''s", "7", "-0", "null", "漢字", "a b", "tab\there", "TRUE"]
CODES = ["u", "v", "w", "x", "07"]
TEXT_KEYS = ["k%d" % n for n in range(1, 12)] + ["K1", "é", "0", "a key", "-1"]
INTEGER_KEYS = list(range(1, 13)) + [0, -5, 9007199254740993, -9223372036854775808]


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
        return TEXT_KEYS if table.key_type == "text" else INTEGER_KEYS

    def timestamp(self, moment):
        """A timestamp as applications write them: right, in the past, in the future, or no time at all."""
        form = self.chance.choice(FORMS)
        kind = self.chance.random()
        if kind < 0.55:
            offset = 0
        elif kind < 0.75:
            offset = -self.chance.choice([SECOND, 90 * SECOND, 3 * HOUR, 400 * 24 * HOUR])
        elif kind < 0.88 and "future" not in self.without:
            offset = self.chance.choice([SECOND, 90 * SECOND, 3 * HOUR, 9000 * 24 * HOUR])
        else:
            return self.chance.choice(["", "yesterday", "2026-02-30T00:00:00Z", "1760000000", "2026-11-22 10:00:00"])
        return "@{%d:%s}" % (moment + offset, form)

    def value(self, table, column, moment, rows):
        chance = self.chance
        if column.optional and chance.random() < 0.25:
            return "NULL"
        if table.parent and column.name == table.parent[0]:
            parents = list(rows.get(table.parent[1], {})) if chance.random() < 0.85 else self.keys(self.schema.table(table.parent[1]))
            return quote(chance.choice(parents or self.keys(self.schema.table(table.parent[1]))))
        if column.name == table.timestamp:
            return quote(self.timestamp(moment))
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
        }[column.type]()

    def values(self, table, moment, rows, key=None):
        key = quote(key if key is not None else self.chance.choice(self.keys(table)))
        return [key] + [self.value(table, column, moment, rows) for column in table.columns]

    def settings(self, table, moment, rows):
        """Column and value pairs of an UPDATE: one column or more; the timestamp often, but not always."""
        columns = [column for column in table.columns if column.name != table.timestamp]
        chosen = self.chance.sample(columns, min(len(columns), self.chance.choice([1, 1, 2])))
        if table.timestamp and self.chance.random() < 0.6:
            chosen.append(table.column(table.timestamp))
        return [(column.name, self.value(table, column, moment, rows)) for column in chosen]

    def ops(self, moment, rows):
        return [self.op(moment, rows)]

    def op(self, moment, rows):
        """One operation on a device whose rows are known."""
        chance = self.chance
        table = chance.choice(self.schema.tables)
        there = list(rows[table.name])
        free = [key for key in self.keys(table) if key not in rows[table.name]]
        kind = chance.random()
        key = chance.choice(there) if there and chance.random() < 0.9 else chance.choice(self.keys(table))
        at = "WHERE id = %s" % quote(key)
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
            values = self.values(table, moment, rows, key)
            if table.timestamp and key in rows[table.name] and chance.random() < 0.4 and "repeat" not in self.without:
                values[table.position(table.timestamp)] = quote(rows[table.name][key][table.position(table.timestamp)])
            return {"do": "replace", "table": table.name, "values": values,
                "sql": "INSERT OR REPLACE INTO %s VALUES(%s)" % (table.name, ", ".join(values))}
        if kind < 0.83:
            values = self.values(table, moment, rows, key)
            names = [name for name in table.names()[1:] if not table.column(name).unique]
            pairs = ", ".join("%s = excluded.%s" % (name, name) for name in chance.sample(names, min(2, len(names))))
            return {"do": "upsert", "table": table.name,
                "sql": "INSERT INTO %s VALUES(%s) ON CONFLICT(id) DO UPDATE SET %s" % (table.name, ", ".join(values), pairs)}
        if kind < 0.90 and free:
            return {"do": "rename", "table": table.name, "sql": "UPDATE %s SET id = %s %s" % (table.name, quote(chance.choice(free)), at)}
        states = [row for row in self.earlier.get((table.name, key), []) if row != rows[table.name].get(key)]
        if kind < 0.94 and states and key in rows[table.name]:
            pairs = ", ".join("%s = %s" % (name, quote(value)) for name, value in zip(table.names()[1:], chance.choice(states)[1:]))
            return {"do": "put back", "table": table.name, "sql": "UPDATE %s SET %s %s" % (table.name, pairs, at)}
        if kind < 0.97:
            return {"do": "bulk", "table": table.name, "sql": "UPDATE %s SET title = title || ' +%d'" % (table.name, self.turn)}
        return {"do": "touch", "table": table.name, "sql": "UPDATE %s SET title = title %s" % (table.name, at)}
