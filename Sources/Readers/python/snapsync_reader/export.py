"""Descriptions of tables, and versions as SQLite databases and as CSV."""
import base64
import os
import re
import sqlite3

from .assets import NAME, RESERVED, TYPES
from .files import ZoneError, checked, need
from .rows import RawText, load, quoted, real_text, unbase64

NUMERIC = re.compile(r"[ \t-\r]*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t-\r]*")
DECLARED = {"integer": "INTEGER", "int": "INTEGER", "text": "TEXT", "real": "REAL", "blob": None, "untyped": None}  # and their affinity
DECLARED.update(dict.fromkeys("numeric boolean date datetime timestamp time decimal json any".split(), "NUMERIC"))
TYPED = {"text": "text", "integer": "integer", "boolean": "integer", "json": "text", "blob": "blob"}
ACTIONS = {"noAction": "NO ACTION", "restrict": "RESTRICT", "setNull": "SET NULL", "setDefault": "SET DEFAULT", "cascade": "CASCADE"}
COLLATIONS, TIMES = {"binary", "nocase", "rtrim"}, {"date": "CURRENT_DATE", "time": "CURRENT_TIME", "timestamp": "CURRENT_TIMESTAMP"}


def name(text):
    return '"' + text.replace('"', '""') + '"'


def names(columns):
    return ", ".join(map(name, columns))


class Description:
    """A table and the dataset that it is published as. Raises ValueError for a document of another form."""

    def __init__(self, text):
        need(len(text.encode()) <= 1 << 20, "larger than 1 MiB")
        body = load(text.encode())
        dataset, table = body["dataset"], body["structure"]
        self.name, self.structure, self.primary = dataset["name"], table["columns"], table["primaryKey"]
        self.table, self.record = dataset.get("table", self.name), dataset.get("recordName", self.name + "_data")
        need(body["formatVersion"] == 1 and NAME.fullmatch(self.name) and self.name not in RESERVED, "the format version, or the dataset's name")
        need(not self.table.lower().startswith(("sqlite_", "snapsync_")), "the table's name")
        self.key = [dataset["key"]] if isinstance(dataset["key"], str) else dataset["key"]
        self.columns = {c["name"]: c.get("column", c["name"]) for c in dataset["columns"]}
        self.types = {c["name"]: (c.get("type"), c.get("optional", False)) for c in dataset["columns"]}
        own = [c["column"] for c in self.structure]
        need(1 <= len(self.columns) == len(dataset["columns"]) <= 1000 and set(self.key) <= set(self.columns), "the columns")
        need(all(1 <= len(n.encode()) <= 128 and not re.search("[\0-\x1f\x7f-\x9f]", n) for n in [self.table, *self.columns, *own]), "a name")
        rowid = set(self.columns.values()) - set(own)  # a table without a key is carried by its rowid
        need(rowid <= {self.columns[self.key[0]]} & {"rowid", "_rowid_", "oid"} and set(own) <= set(self.columns.values()), "other columns")
        need(len(set(own)) == len(own) and all(t in TYPES | {None} for t, _ in self.types.values()), "a column twice, or of an unknown type")
        need(all(c["declared"] in DECLARED and c["collation"] in COLLATIONS and type(c["notNull"]) is bool for c in self.structure), "a column")
        self.unique, self.references, flags = table["unique"], table["references"], [table[f] for f in ("autoincrement", "strict", "withoutRowid")]
        need(len(self.unique) <= 1000 and len(self.references) <= 1000 and all(type(flag) is bool for flag in flags), "constraints or flags")
        for group in [self.primary, *(u["columns"] for u in self.unique), *(r["columns"] for r in self.references)]:
            need(set(group) <= set(own) and len(set(group)) == len(group), "a constraint's columns")
        need(all(len(u["collations"]) == len(u["columns"]) and set(u["collations"]) <= COLLATIONS for u in self.unique), "a collation")
        need(all({r["onDelete"], r["onUpdate"]} <= set(ACTIONS) and len(r["parentColumns"]) == len(r["columns"]) for r in self.references), "a reference")
        self.automatic, self.strict, self.without = flags
        self.create({r["parent"]: "" for r in self.references}, True)

    @staticmethod
    def all(fields, where):
        """The descriptions of a version, by the names of the records that they describe."""
        made, taken = {}, set()
        for record, own in fields.items():
            if record.startswith("table.") and "description" in own:
                with checked(f"{where}: record {record}", "the description"):
                    one = Description(own["description"]["value"])
                    new = {("name", one.name.lower()), ("table", one.table.lower()), ("record", one.record.lower())}
                    need(not taken & new, "another description has its name")
                    taken, made[one.record] = taken | new, one
        for one in made.values():
            if not {r["parent"] for r in one.references} <= {other.name for other in made.values()}:
                raise ZoneError(f"{where}: record table.{one.name}", "it refers to a dataset that is not described")
        return made

    def fits(self, index):
        typed = {c.name: (c.type, c.optional) for c in index.schema.columns.values() if c.type}
        return index.dataset == self.name and index.schema.key_names == self.key and all(self.types.get(n, t) == t for n, t in typed.items())

    def create(self, parents, typed):
        """The CREATE TABLE, with the tables' names of referenced datasets."""
        lines = []
        for c in self.structure:
            is_key = [c["column"]] == self.primary
            kind = c["declared"].upper() if c["declared"] != "untyped" and (typed or (is_key and self.automatic)) else ""
            lines.append(f"{name(c['column'])} {kind}" + " PRIMARY KEY AUTOINCREMENT" * (is_key and self.automatic) + " NOT NULL" * c["notNull"]
                         + f" COLLATE {c['collation']}" + (f" DEFAULT {self._default(c['default'])}" if "default" in c else ""))
        lines += [f"PRIMARY KEY({names(self.primary)})"] * bool(self.primary and not self.automatic)
        for u in self.unique:
            lines.append("UNIQUE(" + ", ".join(f"{name(c)} COLLATE {by}" for c, by in zip(u["columns"], u["collations"])) + ")")
        for r in self.references:
            lines.append(f"FOREIGN KEY({names(r['columns'])}) REFERENCES {name(parents[r['parent']])}({names(r['parentColumns'])})"
                         f" ON DELETE {ACTIONS[r['onDelete']]} ON UPDATE {ACTIONS[r['onUpdate']]}"
                         + " DEFERRABLE INITIALLY DEFERRED" * (r.get("deferred") is True))
        return f"CREATE TABLE {name(self.table)}({', '.join(lines)})" + ", ".join([" WITHOUT ROWID"] * self.without + [" STRICT"] * (self.strict and typed))

    @staticmethod
    def _default(default):
        (kind, value), = default.items()
        if kind in ("current", "base64"):
            return TIMES[value] if kind == "current" else f"x'{unbase64(value).hex()}'"
        value = float(value) if kind == "real" and type(value) is int else value  # a whole number has no fraction in a description
        if kind == "real" and value in ("Infinity", "-Infinity"):
            return "-9e999" if value[0] == "-" else "9e999"
        need((kind, type(value)) in (("integer", int), ("real", float), ("text", str)) and len(str(value).encode()) <= 4096, "a default")
        return f"({value!r})" if kind != "text" else f"(CAST(x'{value.encode().hex()}' AS TEXT))" if "\0" in value else "'" + value.replace("'", "''") + "'"

    def affinity(self, json, typed):
        column = next((c for c in self.structure if c["column"] == self.columns.get(json)), {"declared": "untyped"})
        any_value = column["declared"] == "any" and self.strict
        return None if any_value or not (typed or (self.automatic and [column.get("column")] == self.primary)) else DECLARED[column["declared"]]


def changes(value, affinity):
    """Whether a column of this affinity stores another value."""
    if affinity is None or value is None or isinstance(value, (bytes, RawText)):
        return False
    if affinity == "TEXT" or isinstance(value, str):
        return not isinstance(value, str) if affinity == "TEXT" else NUMERIC.fullmatch(value) is not None
    return isinstance(value, int) if affinity == "REAL" else isinstance(value, float) and value == value // 1 and -(1 << 63) <= value < 1 << 63


def write_sqlite(version, path, typed=True):
    """Writes a new database under another name, and gives it its name when it is whole."""
    need(not os.path.exists(path), f"{path} exists")
    partial = f"{path}.partial"
    if os.path.exists(partial):
        os.remove(partial)
    database = sqlite3.connect(partial, isolation_level=None)
    try:
        database.execute("BEGIN")
        parents = {table.name: table.own for table in version._tables.values()}
        for table in version._tables.values():
            try:
                _fill(database, table, parents, typed)
            except sqlite3.Error as error:
                raise ZoneError(table.where, f"SQLite refuses the table {table.own}: {error}") from error
        database.execute("COMMIT")
        database.close()
        os.rename(partial, path)
    except BaseException:
        database.close()
        os.remove(partial)
        raise


def _fill(database, table, parents, typed):
    described, schema = table.description, table.snapshot.schema
    if described:
        database.execute(described.create(parents, typed))
        columns = [(n, described.columns.get(n, n), described.affinity(n, typed)) for n in schema.names]
    else:
        kinds = {n: TYPED.get(c.type, "untyped") if typed else "untyped" for n, c in schema.columns.items()}
        lines = [name(n) + f" {kinds[n]}" * (kinds[n] != "untyped") + " NOT NULL" * (not c.optional) + f" COLLATE {c.collation or 'binary'}"
                 for n, c in schema.columns.items()]
        database.execute(f"CREATE TABLE {name(table.own)}({', '.join(lines)}, PRIMARY KEY({names(schema.key_names)}))")
        columns = [(n, n, DECLARED[kinds[n]]) for n in schema.names]
    insert = f"INSERT INTO {name(table.own)}({names(column for _, column, _ in columns)}) VALUES("
    for row in table.rows():
        values = list(row.values())
        for value, (_, column, affinity) in zip(values, columns):
            if changes(value, affinity):
                raise ZoneError(table.where, f"the column {column} is declared so that it changes a value: use typed=False")
        places = ", ".join("CAST(? AS TEXT)" if isinstance(value, RawText) else "?" for value in values)
        database.execute(insert + places + ")", [value.data if isinstance(value, RawText) else value for value in values])


def csv_value(value):
    """NULL is empty, text is quoted, numbers are not, blobs and text that is not UTF-8 are hexadecimal as x'…'."""
    if isinstance(value, (bytes, RawText)):
        return f"x'{(value if isinstance(value, bytes) else value.data).hex()}'"
    if isinstance(value, float):
        return real_text(value) if abs(value) != float("inf") else "Infinity" if value > 0 else "-Infinity"
    return "" if value is None else '"' + value.replace('"', '""') + '"' if isinstance(value, str) else str(value)


def write_csv(table, file):
    file.write(",".join(map(csv_value, table.columns)) + "\n")
    for row in table.rows():
        file.write(",".join(map(csv_value, row.values())) + "\n")


def json_row(row):
    """A row as one line of JSON, in which each value keeps its type. NULL is null."""
    def value(one):
        if isinstance(one, (bytes, RawText)):
            kind, data = ("base64", one) if isinstance(one, bytes) else ("textBase64", one.data)
            return f'{{"{kind}":"{base64.b64encode(data).decode()}"}}'
        return real_text(one) if isinstance(one, float) else "null" if one is None else quoted(one) if isinstance(one, str) else str(one)
    return "{" + ",".join(f"{quoted(key)}:{value(one)}" for key, one in row.items()) + "}"
