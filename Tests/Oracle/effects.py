"""What statements do to an application's tables, found out in a database in memory that has nothing of snapsync.

The tables there have the application's SQL and its rows, so that constraints, REPLACE and foreign-key actions do what SQLite
does; triggers of our own note the rows that a statement touches.
"""
import sqlite3
from collections import namedtuple

from values import canonical

# kind: "insert", "update" (the key stays), "delete", "replaced" (gone by another UNIQUE value); before and after: rows as tuples, None where there is none.
Touch = namedtuple("Touch", "table kind key before after renamed")


def quote(value):
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return "x'%s'" % value.hex()
    if isinstance(value, str):
        return "'%s'" % value.replace("'", "''")
    if value in (float("inf"), float("-inf")):
        return "%s9e999" % ("-" if value < 0 else "")
    return repr(value)


class Scratch:
    """A database in memory with the rows of one device."""

    def __init__(self, schema, rows, now, foreign_keys):
        self.schema = schema
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.connection.create_function("strftime", 2, lambda form, moment: now)
        run = self.connection.execute
        for table in schema.tables:
            run(table.sql())
            places = ", ".join("?" * len(table.names()))
            self.connection.executemany("INSERT INTO %s VALUES(%s)" % (table.name, places), list(rows[table.name].values()))
        run("CREATE TEMP TABLE touched(n INTEGER PRIMARY KEY, tab, kind, old, new)")
        for table in schema.tables:
            self.note(table)
        run("PRAGMA foreign_keys = %d" % foreign_keys)

    def note(self, table):
        def packed(side):
            # A blob column cannot stand in a JSON array, so values travel as SQL literals. quote() knows no infinity.
            return "||','||".join("CASE {0} WHEN 9e999 THEN '9e999' WHEN -9e999 THEN '-9e999' ELSE quote({0}) END".format("%s.%s" % (side, name))
                                  for name in table.names())
        for event, old, new in (("INSERT", "NULL", packed("NEW")), ("UPDATE", packed("OLD"), packed("NEW")), ("DELETE", packed("OLD"), "NULL")):
            self.connection.execute("CREATE TEMP TRIGGER note_%s_%s AFTER %s ON main.%s BEGIN INSERT INTO touched(tab, kind, old, new) "
                "VALUES('%s', '%s', %s, %s); END" % (table.name, event, event, table.name, table.name, event.lower(), old, new))

    def read(self, table):
        return table.by_key(self.connection.execute("SELECT * FROM %s" % table.name))

    def parsed(self, literals):
        return None if literals is None else canonical(self.connection.execute("SELECT " + literals).fetchone())

    def displaced(self, op):
        """The rows that a REPLACE takes away, which fires no delete trigger."""
        table = self.schema.table(op["table"])
        row = self.parsed(", ".join(op["values"]))
        values = dict(zip(table.names(), row))
        found = []
        for names in [table.key_names()] + [[name] for name in table.unique()]:
            if all(values[name] is not None for name in names):
                where = " AND ".join("%s = ?" % name for name in names)
                found += self.connection.execute("SELECT * FROM %s WHERE %s" % (table.name, where), [values[name] for name in names]).fetchall()
        return table, table.identity(row), list(dict.fromkeys(map(canonical, found)))

    def touches(self):
        noted = self.connection.execute("SELECT tab, kind, old, new FROM touched ORDER BY n").fetchall()
        self.connection.execute("DELETE FROM touched")
        result = []
        for name, kind, old, new in noted:
            before, after = self.parsed(old), self.parsed(new)
            identity = self.schema.table(name).identity
            if kind == "update" and identity(before) != identity(after):
                result.append(Touch(name, "delete", identity(before), before, None, True))
                result.append(Touch(name, "insert", identity(after), None, after, before))
            else:
                result.append(Touch(name, kind, identity(after or before), before, after, False))
        return result


def effects(schema, rows, ops, now, foreign_keys):
    """Runs a transaction of operations on rows by table and key. Returns the rows after it and the touches in order, or None if it fails."""
    scratch = Scratch(schema, rows, now, foreign_keys)
    touches = []
    try:
        scratch.connection.execute("BEGIN IMMEDIATE")
        for op in ops:
            gone = scratch.displaced(op) if op["do"] == "replace" else None
            scratch.connection.execute(op["sql"])
            made = scratch.touches()
            if gone:
                made = replaced(*gone, made)
            touches += [touch for touch in made if touch.before is None or touch.after is None or is_changed(touch.before, touch.after)]
        scratch.connection.execute("COMMIT")
        return {table.name: scratch.read(table) for table in schema.tables}, touches
    except sqlite3.Error:
        return None
    finally:
        scratch.connection.close()


def is_changed(before, after):
    """Whether a statement changed a value; one that did not is no edit. 1 and 1.0 are two values."""
    return [(type(value), value) for value in before] != [(type(value), value) for value in after]


def replaced(table, key, gone, touches):
    """A REPLACE is an edit of the row with its key, and deletes the others that are in its way."""
    before = next((row for row in gone if table.identity(row) == key), None)
    result = [Touch(table.name, "replaced", table.identity(row), row, None, False) for row in gone if table.identity(row) != key]
    for touch in touches:
        if before is not None and touch.table == table.name and touch.kind == "insert" and touch.key == key:
            touch = touch._replace(kind="update", before=before)
        result.append(touch)
    return result
