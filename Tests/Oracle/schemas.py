"""Random schemas: one or two datasets, with what an application's tables have."""
import json

NOW = "strftime('%Y-%m-%dT%H:%M:%fZ','now')"


class Column:
    def __init__(self, name, type, optional=False, unique=False, check=None):
        self.name, self.type, self.optional, self.unique, self.check = name, type, optional, unique, check

    def declaration(self):
        affinity = {"text": "TEXT", "json": "TEXT", "integer": "INTEGER", "boolean": "INTEGER", "real": "REAL", "blob": "BLOB"}[self.type]
        parts = [self.name, affinity]
        if not self.optional:
            parts.append("NOT NULL")
        if self.unique:
            parts.append("UNIQUE")
        if self.check:
            parts.append("CHECK(%s)" % self.check)
        return " ".join(parts)


class Table:
    """`key` is a column of its own in front of `columns`; `parent` is (column, table, action) of a foreign key."""

    def __init__(self, name, key_type, columns, timestamp=None, parent=None, without_rowid=False):
        self.name, self.key_type, self.columns, self.timestamp, self.parent = name, key_type, columns, timestamp, parent
        self.without_rowid = without_rowid
        self.key = "id"

    def names(self):
        return [self.key] + [column.name for column in self.columns]

    def position(self, name):
        return self.names().index(name)

    def column(self, name):
        return next(column for column in self.columns if column.name == name)

    def unique(self):
        return [column.name for column in self.columns if column.unique]

    def sql(self):
        key = "id TEXT PRIMARY KEY NOT NULL" if self.key_type == "text" else "id INTEGER PRIMARY KEY"
        parts = [key] + [column.declaration() for column in self.columns]
        if self.parent:
            parts.append("FOREIGN KEY(%s) REFERENCES %s(id)%s" % (self.parent[0], self.parent[1], self.parent[2]))
        return "CREATE TABLE %s(%s)%s" % (self.name, ", ".join(parts), " WITHOUT ROWID" if self.without_rowid else "")


class Schema:
    """`triggers` are the application's own; `kinds` names what the schema has, for the figures."""

    def __init__(self, tables, triggers=(), kinds=(), built_in=False):
        self.tables, self.triggers, self.kinds, self.built_in = tables, list(triggers), list(kinds), built_in

    def table(self, name):
        return next(table for table in self.tables if table.name == name)

    def children(self, name):
        return [table for table in self.tables if table.parent and table.parent[1] == name]

    def statements(self):
        return [table.sql() for table in self.tables] + self.triggers

    def dataset_file(self):
        datasets = []
        for table in self.tables:
            columns = [{"name": "id", "type": table.key_type}]
            for column in table.columns:
                described = {"name": column.name, "type": column.type}
                if column.optional:
                    described["optional"] = True
                columns.append(described)
            dataset = {"name": table.name, "key": "id", "columns": columns}
            if table.timestamp:
                dataset["timestamp"] = table.timestamp
            datasets.append(dataset)
        return json.dumps({"formatVersion": 1, "datasets": datasets})


def random_table(chance, name, allows):
    key_type = chance.choice(["text", "integer"])
    columns = [Column("title", "text")]
    if "unique" in allows and chance.random() < 0.7:
        columns.append(Column("code", "text", optional=chance.random() < 0.7, unique=True))
    if chance.random() < 0.3:
        columns.append(Column("amount", "integer", optional=True, check="amount >= 0"))
    if chance.random() < 0.4:
        type = chance.choice(["real", "boolean", "json", "blob", "text"])
        columns.append(Column("extra", type, optional=True))
    timestamp = None
    if chance.random() < 0.6:
        timestamp = "ts"
        columns.append(Column("ts", "text", optional=chance.random() < 0.6))
    chance.shuffle(columns)
    return Table(name, key_type, columns, timestamp, without_rowid=chance.random() < 0.3)


def audit(table):
    """Triggers that write a log of the application's own, which no dataset has."""
    return ["CREATE TRIGGER audit_%s_%s AFTER %s ON %s BEGIN INSERT INTO audit(what) VALUES('%s'); END" % (table.name, event, event, table.name, event)
            for event in ("INSERT", "UPDATE", "DELETE")]


def touch(table):
    """A trigger that brings the timestamp up to date where a statement has not."""
    return ["CREATE TRIGGER touch_%s AFTER UPDATE ON %s WHEN NEW.ts IS OLD.ts AND NEW.ts IS NOT %s "
            "BEGIN UPDATE %s SET ts = %s WHERE id IS NEW.id; END" % (table.name, table.name, NOW, table.name, NOW)]


def random_schema(chance, without=()):
    """A schema of peers: 1 table, or a parent and its child. `without` names what it must not have: unique, parent, triggers."""
    allows = set()
    if chance.random() < 0.4 and "unique" not in without:
        allows.add("unique")
    kinds, triggers = sorted(allows), []
    if chance.random() < 0.5 or "parent" in without:
        tables = [random_table(chance, "notes", allows)]
    else:
        parent, child = random_table(chance, "lists", allows), random_table(chance, "items", allows)
        action = chance.choice(["", "", " ON DELETE CASCADE", " ON DELETE SET NULL"])
        optional = action == " ON DELETE SET NULL" or chance.random() < 0.4
        child.columns.append(Column("list", parent.key_type, optional=optional))
        child.parent = ("list", "lists", action)
        tables = [parent, child]
        kinds.append("parent")
    if chance.random() < 0.25 and "triggers" not in without:
        table = chance.choice(tables)
        if table.timestamp and chance.random() < 0.5:
            triggers += touch(table)
        elif len(tables) == 2 and tables[1].parent[2] == "" and chance.random() < 0.5:
            triggers.append("CREATE TRIGGER by_hand AFTER DELETE ON lists BEGIN DELETE FROM items WHERE list = OLD.id; END")
        else:
            triggers = ["CREATE TABLE audit(n INTEGER PRIMARY KEY, what TEXT)"] + audit(table)
        kinds.append("triggers")
    if any(table.without_rowid for table in tables):
        kinds.append("without rowid")
    return Schema(tables, triggers, kinds)


def built_in_schema():
    """The tables that `init --create` makes."""
    buckets = Table("buckets", "text", [
        Column("name", "text"), Column("description", "text", True), Column("color", "text", True), Column("iconUrl", "text", True),
        Column("createdAt", "text"), Column("updatedAt", "text"), Column("isOrphan", "boolean", True)], "updatedAt")
    notifications = Table("notifications", "text", [
        Column("title", "text"), Column("subtitle", "text", True), Column("body", "text", True), Column("readAt", "text", True),
        Column("sentAt", "text", True), Column("createdAt", "text"), Column("updatedAt", "text"), Column("bucketId", "text"),
        Column("attachments", "json"), Column("actions", "json"), Column("tapAction", "json", True)],
        "updatedAt", ("bucketId", "buckets", ""))
    return Schema([buckets, notifications], kinds=["built-in"], built_in=True)
