"""Random schemas: one or two datasets, with what an application's tables have."""
import json
from collections import namedtuple

from values import canonical, folded

AFFINITIES = {"text": "TEXT", "json": "TEXT", "integer": "INTEGER", "boolean": "INTEGER", "real": "REAL", "blob": "BLOB", "any": ""}

# A foreign key: columns of the child, the parent table, whose key they refer to, and what happens when a parent is deleted.
Parent = namedtuple("Parent", "columns table action")


# What readers may send about a table's rows: docs/messages.md, "Which tables readers may edit".
Policy = namedtuple("Policy", "rows patch delete")
NOTHING = Policy(False, (), False)
ROWS = Policy(True, (), False)


class Column:
    def __init__(self, name, type, optional=False, unique=False, check=None, collation="binary"):
        self.name, self.type, self.optional, self.unique, self.check, self.collation = name, type, optional, unique, check, collation

    def declaration(self, strict=False):
        parts = [self.name, "ANY" if strict and self.type == "any" else AFFINITIES[self.type]]
        if not self.optional:
            parts.append("NOT NULL")
        if self.collation != "binary":
            parts.append("COLLATE " + self.collation.upper())
        if self.unique:
            parts.append("UNIQUE")
        if self.check:
            parts.append("CHECK(%s)" % self.check)
        return " ".join(part for part in parts if part)

    def described(self, key=False):
        result = {"name": self.name}
        if key and self.collation != "binary":
            result["collation"] = self.collation
        return result


class Table:
    """`keys` are the columns of the key, in front of `columns`; `unit` is the timestamp's, None for text; `messages` is a Policy."""

    def __init__(self, name, keys, columns, timestamp=None, parent=None, without_rowid=False, strict=False, unit=None, turned=False):
        self.name, self.keys, self.columns, self.timestamp, self.parent = name, keys, columns, timestamp, parent
        self.without_rowid, self.strict, self.unit, self.turned = without_rowid, strict, unit, turned
        self.messages = NOTHING

    def key_names(self):
        return [column.name for column in self.keys]

    def names(self):
        return self.key_names() + [column.name for column in self.columns]

    def position(self, name):
        return self.names().index(name)

    def column(self, name):
        return next(column for column in self.keys + self.columns if column.name == name)

    def unique(self):
        return [column.name for column in self.columns if column.unique]

    def simple(self):
        """Whether the key is one integer, or one text that is compared byte by byte."""
        return len(self.keys) == 1 and (self.keys[0].type == "integer" or self.keys[0].type == "text" and self.keys[0].collation == "binary")

    def identity(self, values):
        """The entity that the values of a key, in front of a row or alone, name."""
        if self.simple():
            return values[0]
        return tuple(folded(value, column.collation) for value, column in zip(values, self.keys))

    def by_key(self, rows):
        return {self.identity(row): row for row in map(canonical, rows)}

    def sql(self):
        if len(self.keys) == 1:
            key = self.keys[0]
            parts = ["id INTEGER PRIMARY KEY" if key.type == "integer" else key.declaration() + " PRIMARY KEY"]
        else:
            parts = [column.declaration() for column in self.keys]
        parts += [column.declaration(self.strict) for column in self.columns]
        if len(self.keys) > 1:
            parts.append("PRIMARY KEY(%s)" % ", ".join(reversed(self.key_names()) if self.turned else self.key_names()))
        if self.parent:
            parts.append("FOREIGN KEY(%s) REFERENCES %s(%s)%s" % (", ".join(self.parent.columns), self.parent.table, ", ".join(self.parent_keys), self.parent.action))
        options = (["WITHOUT ROWID"] if self.without_rowid else []) + (["STRICT"] if self.strict else [])
        return "CREATE TABLE %s(%s)%s" % (self.name, ", ".join(parts), " " + ", ".join(options) if options else "")

    def refers(self, columns, parent, action):
        """Makes a foreign key to the key of another table."""
        self.parent, self.parent_keys = Parent(tuple(columns), parent.name, action), parent.key_names()


class Schema:
    """`kinds` names what the schema has, for the figures."""

    def __init__(self, tables, kinds=(), built_in=False):
        self.tables, self.kinds, self.built_in = tables, list(kinds), built_in

    def table(self, name):
        return next(table for table in self.tables if table.name == name)

    def parent_of(self, table, row):
        """The entity that a row refers to, or None."""
        if not table.parent:
            return None
        values = [row[table.position(name)] for name in table.parent.columns]
        return None if None in values else (table.parent.table, self.table(table.parent.table).identity(values))

    def statements(self):
        return [table.sql() for table in self.tables]

    def dataset_file(self):
        datasets = []
        for table in self.tables:
            columns = [column.described(key=True) for column in table.keys] + [column.described() for column in table.columns]
            dataset = {"name": table.name, "key": table.key_names() if len(table.keys) > 1 else table.keys[0].name, "columns": columns}
            if table.timestamp:
                dataset["timestamp"] = table.timestamp
            if table.unit:
                dataset["timestampUnit"] = table.unit
            if table.messages.rows:
                dataset["messages"] = {"rows": True}
            elif table.messages.patch:
                dataset["messages"] = {"patch": list(table.messages.patch)} | ({"delete": True} if table.messages.delete else {})
            datasets.append(dataset)
        return json.dumps({"formatVersion": 1, "datasets": datasets})


KEY_KINDS = [("text", "binary"), ("integer", "binary"), ("text", "nocase"), ("text", "rtrim"), ("blob", "binary"), ("real", "binary")]


def random_keys(chance):
    """The columns of a key: half of the time one text or integer, as most tables have."""
    kind = chance.random()
    if kind < 0.45:
        return [Column("id", chance.choice(["text", "integer"]))]
    if kind < 0.57:
        return [Column("id", "text", collation="nocase")]
    if kind < 0.70:
        type, collation = chance.choice([("blob", "binary"), ("blob", "binary"), ("real", "binary"), ("text", "rtrim")])
        return [Column("id", type, collation=collation)]
    kinds = [chance.choice(KEY_KINDS + [("integer", "binary"), ("text", "binary")]) for _ in range(2)]
    return [Column(name, type, collation=collation) for name, (type, collation) in zip(["id", "part"], kinds)]


def random_table(chance, name, allows):
    columns = [Column("title", "text")]
    if "unique" in allows and chance.random() < 0.7:
        columns.append(Column("code", "text", optional=chance.random() < 0.7, unique=True))
    if chance.random() < 0.3:
        columns.append(Column("amount", "integer", optional=True, check="amount >= 0"))
    if chance.random() < 0.5:
        type = chance.choice(["real", "boolean", "json", "blob", "text", "any", "any", "any"])
        columns.append(Column("extra", type, optional=type != "any" or chance.random() < 0.7))
    timestamp = unit = None
    if chance.random() < 0.6:
        timestamp, type = "ts", "text"
        if chance.random() < 0.35:
            unit = chance.choice(["seconds", "seconds", "milliseconds", "milliseconds", "microseconds", "apple", "julian"])
            type = "real" if unit == "julian" else chance.choice(["integer", "real"]) if unit in ("seconds", "apple") else "integer"
        columns.append(Column("ts", type, optional=chance.random() < 0.6))
    chance.shuffle(columns)
    return Table(name, random_keys(chance), columns, timestamp, without_rowid=chance.random() < 0.3, strict=chance.random() < 0.2, unit=unit,
        turned=chance.random() < 0.15)


def random_child(chance, name, parent, allows):
    """A table that refers to another one: by columns of its own, which are now and then a part of its key."""
    child = random_table(chance, name, allows)
    action = chance.choice(["", "", " ON DELETE CASCADE", " ON DELETE SET NULL"])
    optional = action == " ON DELETE SET NULL" or chance.random() < 0.4
    names = ["list", "list_part"][:len(parent.keys)]
    if not optional and len(names) == 1 and chance.random() < 0.35:
        child.keys = [Column("list", parent.keys[0].type, collation=parent.keys[0].collation), Column("id", *chance.choice([("integer",), ("text",)]))]
        if chance.random() < 0.3:
            child.keys.reverse()
    else:
        child.columns += [Column(own, column.type, optional=optional, collation=column.collation if chance.random() < 0.7 else "binary")
                          for own, column in zip(names, parent.keys)]
    child.refers(names, parent, action)
    return child


def kinds_of(tables):
    """What the keys, columns and timestamps of some tables are, for the figures."""
    found = set()
    for table in tables:
        columns = table.keys + table.columns
        for name, holds in (
                ("composite key", len(table.keys) > 1), ("any column", any(column.type == "any" for column in columns)),
                ("numeric timestamps", table.unit is not None), ("without rowid", table.without_rowid), ("strict", table.strict),
                ("composite foreign key", table.parent and len(table.parent.columns) > 1),
                ("foreign key in the key", table.parent and table.parent.columns[0] in table.key_names())):
            if holds:
                found.add(name)
        found.update("%s key" % column.collation for column in table.keys if column.collation != "binary")
        found.update("%s key" % column.type for column in table.keys if column.type in ("blob", "real"))
    return sorted(found)


def edited_schema(chance, without=()):
    """An application's tables of which the readers may edit all, some columns, or nothing."""
    allows = {"unique"} if chance.random() < 0.3 and "unique" not in without else set()
    tables = [random_table(chance, "lists", allows)]
    if chance.random() < 0.6 and "parent" not in without:
        tables.append(random_child(chance, "items", tables[0], allows))
    for table in tables:
        if len(table.keys) == 1 and table.keys[0].type == "integer":
            # Of such a key SQLite makes the values; that is the matter of --shared-keys.
            return edited_schema(chance, without)
    for table in tables:
        table.messages = random_policy(chance, table)
        if table.unit:
            # The model stands a text in the place of a timestamp that it leaves open.
            table.strict = False
    kinds = ["readers edit " + kind_of(table.messages) for table in tables] + (["parent"] if len(tables) > 1 else []) + sorted(allows)
    return Schema(tables, kinds=sorted(set(kinds + kinds_of(tables))))


def random_policy(chance, table):
    kind = chance.random()
    names = [column.name for column in table.columns if column.name != table.timestamp]
    if kind < 0.45:
        return ROWS
    if kind < 0.85:
        return Policy(False, tuple(chance.sample(names, min(len(names), chance.choice([1, 1, 2])))), chance.random() < 0.5)
    return NOTHING


def kind_of(policy):
    return "rows" if policy.rows else "columns" if policy.patch else "nothing"


def built_in_schema():
    """The tables that `init --create` makes."""
    buckets = Table("buckets", [Column("id", "text")], [
        Column("name", "text"), Column("description", "text", True), Column("color", "text", True), Column("iconUrl", "text", True),
        Column("createdAt", "text"), Column("updatedAt", "text"), Column("isOrphan", "boolean", True)], "updatedAt")
    notifications = Table("notifications", [Column("id", "text")], [
        Column("title", "text"), Column("subtitle", "text", True), Column("body", "text", True), Column("readAt", "text", True),
        Column("sentAt", "text", True), Column("createdAt", "text"), Column("updatedAt", "text"), Column("bucketId", "text"),
        Column("attachments", "json"), Column("actions", "json"), Column("tapAction", "json", True)],
        "updatedAt")
    notifications.refers(["bucketId"], buckets, "")
    buckets.messages, notifications.messages = ROWS, Policy(False, ("readAt",), True)
    return Schema([buckets, notifications], kinds=["built-in"], built_in=True)
