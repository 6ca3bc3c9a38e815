"""What statements do to an application's tables, found out in a database in memory that has nothing of snapsync.

The tables there have the application's SQL, its rows and its triggers, so that constraints, REPLACE, foreign-key actions and triggers do what SQLite
does; triggers of our own note the rows that a statement touches.
"""
import sqlite3
from collections import namedtuple

# kind: "insert", "update" (the key stays), "delete"; before and after: rows as tuples, None where there is none.
Touch = namedtuple("Touch", "table kind key before after renamed")


def quote(value):
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return "x'%s'" % value.hex()
    if isinstance(value, str):
        return "'%s'" % value.replace("'", "''")
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
        # Temporary triggers fire after the table's own of the same moment were found; the order within one statement does not matter here.
        for statement in schema.triggers:
            run(statement)
        for table in schema.tables:
            self.note(table)
        run("PRAGMA foreign_keys = %d" % foreign_keys)

    def note(self, table):
        def packed(side):
            # A blob column cannot stand in a JSON array, so values travel as SQL literals.
            return "||','||".join("quote(%s.%s)" % (side, name) for name in table.names())
        for event, old, new in (("INSERT", "NULL", packed("NEW")), ("UPDATE", packed("OLD"), packed("NEW")), ("DELETE", packed("OLD"), "NULL")):
            self.connection.execute("CREATE TEMP TRIGGER note_%s_%s AFTER %s ON main.%s BEGIN INSERT INTO touched(tab, kind, old, new) "
                "VALUES('%s', '%s', %s, %s); END" % (table.name, event, event, table.name, table.name, event.lower(), old, new))

    def read(self, table):
        return {row[0]: row for row in self.connection.execute("SELECT * FROM %s" % table.name)}

    def parsed(self, literals):
        return None if literals is None else self.connection.execute("SELECT " + literals).fetchone()

    def displaced(self, op):
        """The rows that a REPLACE takes away, which fires no delete trigger."""
        table = self.schema.table(op["table"])
        values = dict(zip(table.names(), self.parsed(", ".join(op["values"]))))
        found = []
        for name in [table.key] + table.unique():
            if values[name] is not None:
                found += self.connection.execute("SELECT * FROM %s WHERE %s = ?" % (table.name, name), (values[name],)).fetchall()
        return table, values[table.key], list(dict.fromkeys(found))

    def touches(self):
        noted = self.connection.execute("SELECT tab, kind, old, new FROM touched ORDER BY n").fetchall()
        self.connection.execute("DELETE FROM touched")
        result = []
        for name, kind, old, new in noted:
            before, after = self.parsed(old), self.parsed(new)
            if kind == "update" and before[0] != after[0]:
                result.append(Touch(name, "delete", before[0], before, None, True))
                result.append(Touch(name, "insert", after[0], None, after, before))
            else:
                result.append(Touch(name, kind, (after or before)[0], before, after, False))
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
            touches += made
        scratch.connection.execute("COMMIT")
        return {table.name: scratch.read(table) for table in schema.tables}, touches
    except sqlite3.Error:
        return None
    finally:
        scratch.connection.close()


def replaced(table, key, gone, touches):
    """A REPLACE is an edit of the row with its key, and deletes the others that are in its way."""
    before = next((row for row in gone if row[0] == key), None)
    result = [Touch(table.name, "delete", row[0], row, None, False) for row in gone if row[0] != key]
    for touch in touches:
        if before is not None and touch.table == table.name and touch.kind == "insert" and touch.key == key:
            touch = touch._replace(kind="update", before=before)
        result.append(touch)
    return result
