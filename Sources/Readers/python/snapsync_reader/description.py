"""Descriptions of tables, which zones carry."""
import re

from .assets import RESERVED, TYPES
from .errors import Damaged
from .history import need
from .strict import load, unbase64

DECLARED = {"integer", "int", "text", "real", "blob", "numeric", "boolean", "date", "datetime", "timestamp", "time", "decimal", "json",
            "any", "untyped"}
ACTIONS = {"noAction": "NO ACTION", "restrict": "RESTRICT", "setNull": "SET NULL", "setDefault": "SET DEFAULT", "cascade": "CASCADE"}
COLLATIONS = {"binary", "nocase", "rtrim"}


class Description:
    """A table and the dataset that it is published as. Raises ValueError for a document of another form."""

    def __init__(self, text):
        need(len(text.encode()) <= 1 << 20, "larger than 1 MiB")
        body = load(text.encode())
        need(body["formatVersion"] == 1, "its format version")
        dataset, table = body["dataset"], body["structure"]
        self.name, self.table = dataset["name"], dataset.get("table", dataset["name"])
        need(re.fullmatch("[A-Za-z][A-Za-z0-9_]{0,63}", self.name) and self.name not in RESERVED, "the dataset's name")
        need(plain(self.table) and not self.table.lower().startswith(("sqlite_", "snapsync_")), "the table's name")
        self.record = dataset.get("recordName", self.name + "_data")
        self.key = [dataset["key"]] if isinstance(dataset["key"], str) else dataset["key"]
        self.columns = {c["name"]: c.get("column", c["name"]) for c in dataset["columns"]}
        self.types = {c["name"]: (c.get("type"), c.get("optional", False)) for c in dataset["columns"]}
        need(1 <= len(self.columns) == len(dataset["columns"]) <= 1000 and set(self.key) <= set(self.columns), "the columns")
        need(all(plain(a) and plain(b) for a, b in self.columns.items()), "a column's name")
        need(all(c.get("type") in TYPES | {None} and c.get("collation", "binary") in COLLATIONS for c in dataset["columns"]), "a column")
        self.structure = table["columns"]
        names = [c["column"] for c in self.structure]
        self.rowid = set(self.columns.values()) - set(names)
        need(self.rowid <= {self.columns[self.key[0]]} and self.rowid <= {"rowid", "_rowid_", "oid"} and len(set(names)) == len(names)
             and set(names) <= set(self.columns.values()), "structure.columns are not the dataset's")
        for column in self.structure:
            need(column["declared"] in DECLARED and column["collation"] in COLLATIONS and isinstance(column["notNull"], bool), "a column")
        self.primary, self.unique, self.references = table["primaryKey"], table["unique"], table["references"]
        need(len(self.unique) <= 1000 and len(self.references) <= 1000, "too many constraints")
        for group in [self.primary, *(u["columns"] for u in self.unique), *(r["columns"] for r in self.references)]:
            need(set(group) <= set(names) and len(set(group)) == len(group), "a constraint's columns")
        for one in self.unique:
            need(len(one["collations"]) == len(one["columns"]) and set(one["collations"]) <= COLLATIONS, "a constraint's collations")
        for one in self.references:
            need(one["onDelete"] in ACTIONS and one["onUpdate"] in ACTIONS and len(one["parentColumns"]) == len(one["columns"]), "a reference")
        self.flags = {name: table[name] for name in ("autoincrement", "strict", "withoutRowid")}
        need(all(isinstance(flag, bool) for flag in self.flags.values()), "a flag")
        for column in self.structure:
            self.default(column)

    def check(self, index):
        """Compares the description with an asset's index."""
        typed = {c.name: (c.type, c.optional) for c in index.schema.columns.values() if c.type}
        if index.dataset != self.name or index.schema.key_names != self.key or any(self.types.get(n, t) != t for n, t in typed.items()):
            raise Damaged(index.path, "another dataset, key or types than in the description")

    @staticmethod
    def default(column):
        """The SQL of a column's default, or an empty text."""
        if "default" not in column:
            return ""
        (kind, value), = column["default"].items()
        if kind == "current":
            return {"date": " DEFAULT CURRENT_DATE", "time": " DEFAULT CURRENT_TIME", "timestamp": " DEFAULT CURRENT_TIMESTAMP"}[value]
        if kind == "base64":
            return f" DEFAULT x'{unbase64(value).hex()}'"
        need((kind, type(value)) in (("integer", int), ("real", float), ("text", str)) and len(str(value).encode()) <= 4096, "a default")
        if kind != "text":
            return f" DEFAULT ({value!r})"
        return " DEFAULT (CAST(x'" + value.encode().hex() + "' AS TEXT))" if "\0" in value else " DEFAULT '" + value.replace("'", "''") + "'"


def plain(name):
    return isinstance(name, str) and 1 <= len(name.encode()) <= 128 and not re.search("[\0-\x1f\x7f-\x9f]", name)


def descriptions(fields, records, where):
    """The descriptions of a version, by the names of the records that they describe."""
    made, names = {}, set()
    for record, own in fields.items():
        if records[record]["type"] != "SnapshotPin" or "description" not in own or not record.startswith("table."):
            continue
        try:
            one = Description(own["description"]["value"])
            new = {("name", one.name.lower()), ("table", one.table.lower()), ("record", one.record.lower())}
            need(not names & new, "a name that another description has")
            names |= new
            made[one.record] = one
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Damaged(f"{where}: record {record}", f"not a description: {error}") from error
    for one in made.values():
        for reference in one.references:
            if reference["parent"] not in [other.name for other in made.values()]:
                raise Damaged(f"{where}: record table.{one.name}", f"it refers to {reference['parent']}, which is not described")
    return made
