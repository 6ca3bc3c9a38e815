"""Versions as SQLite databases and as CSV."""
import os
import re
import sqlite3

from .description import ACTIONS
from .entities import RawText, quoted
from .errors import ZoneError
from .strict import real_text

NUMERIC_TEXT = re.compile(r"[ \t-\r]*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t-\r]*")
TYPED = {"text": "TEXT", "integer": "INTEGER", "real": "", "boolean": "INTEGER", "json": "TEXT", "blob": "BLOB"}


def name(text):
    return '"' + text.replace('"', '""') + '"'


def affinity(declared, strict):
    if declared in ("", "BLOB") or (declared == "ANY" and strict):
        return None
    return {"INTEGER": "INTEGER", "INT": "INTEGER", "TEXT": "TEXT", "REAL": "REAL"}.get(declared, "NUMERIC")


def changed(value, affinity):
    """Whether a column of this affinity would store another value."""
    if affinity is None or value is None or isinstance(value, bytes):
        return False
    if affinity == "TEXT":
        return not isinstance(value, str)
    if isinstance(value, str):
        return not isinstance(value, RawText) and NUMERIC_TEXT.fullmatch(value) is not None
    if affinity == "REAL":
        return isinstance(value, int)
    return isinstance(value, float) and value == value // 1 and -(2**63) <= value < 2**63


def statement(table, typed, parents):
    """The CREATE TABLE of a table, and its columns: JSON name, name and affinity."""
    described = table.description
    if not described:
        schema = table.snapshot.schema
        declared = [(n, TYPED.get(c.type, "") if typed else "", c) for n, c in schema.columns.items()]
        lines = [name(n) + " " + kind + ("" if c.optional else " NOT NULL") + (f" COLLATE {c.collation}" if c.collation else "")
                 for n, kind, c in declared]
        lines.append(f"PRIMARY KEY({', '.join(map(name, schema.key_names))})")
        own = next(iter(table.version._tables[one] and one for one in table.version._tables if table.version._tables[one] is table))
        return f"CREATE TABLE {name(own)}({', '.join(lines)})", own, [(n, n, affinity(kind, False)) for n, kind, _ in declared]
    strict, lines, columns = described.flags["strict"] and typed, [], {}
    automatic = described.flags["autoincrement"]
    for c in described.structure:
        kind = "" if c["declared"] == "untyped" or not (typed or [c["column"]] == described.primary) else c["declared"].upper()
        columns[c["column"]] = affinity(kind, strict)
        lines.append(name(c["column"]) + " " + kind + (" PRIMARY KEY AUTOINCREMENT" if automatic else "") * ([c["column"]] == described.primary)
                     + " NOT NULL" * c["notNull"] + f" COLLATE {c['collation']}" * (c["collation"] != "binary") + described.default(c))
    if described.primary and not automatic:
        lines.append(f"PRIMARY KEY({', '.join(map(name, described.primary))})")
    for u in described.unique:
        lines.append("UNIQUE(" + ", ".join(f"{name(c)} COLLATE {by}" for c, by in zip(u["columns"], u["collations"])) + ")")
    for r in described.references:
        lines.append(f"FOREIGN KEY({', '.join(map(name, r['columns']))}) REFERENCES {name(parents[r['parent']])}"
                     f"({', '.join(map(name, r['parentColumns']))}) ON DELETE {ACTIONS[r['onDelete']]} ON UPDATE {ACTIONS[r['onUpdate']]}"
                     + " DEFERRABLE INITIALLY DEFERRED" * bool(r.get("deferred")))
    options = ["WITHOUT ROWID"] * described.flags["withoutRowid"] + ["STRICT"] * strict
    names = [(json, described.columns.get(json, json)) for json in table.columns]
    return (f"CREATE TABLE {name(described.table)}({', '.join(lines)}) {', '.join(options)}", described.table,
            [(json, column, columns.get(column)) for json, column in names])


def write_sqlite(version, path, typed=True):
    """Writes a new database under another name, and gives it its name when it is whole."""
    if os.path.exists(path):
        raise FileExistsError(path)
    partial = f"{path}.partial"
    if os.path.exists(partial):
        os.remove(partial)
    database = sqlite3.connect(partial, isolation_level=None)
    try:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("BEGIN")
        parents = {one.description.name: one.description.table for one in version._tables.values() if one.description}
        for dataset in version.tables():
            table = version.table(dataset)
            sql, own, columns = statement(table, typed, parents)
            try:
                database.execute(sql)
                _fill(database, table, own, columns)
            except sqlite3.Error as error:
                raise ZoneError(table.where, f"SQLite refuses the table {own}: {error}") from error
        database.execute("COMMIT")
        database.close()
        os.rename(partial, path)
    except BaseException:
        database.close()
        os.remove(partial)
        raise


def _fill(database, table, own, columns):
    insert = f"INSERT INTO {name(own)}({', '.join(name(column) for _, column, _ in columns)}) VALUES("
    plain = insert + ", ".join("?" * len(columns)) + ")"
    for row in table.rows():
        values, raw = [row[json] for json, _, _ in columns], False
        for at, (json, column, kind) in enumerate(columns):
            if changed(values[at], kind):
                raise ZoneError(table.where, f"the column {column} is declared so that it changes a value of version {table.version.number}")
            raw = raw or isinstance(values[at], RawText)
        if raw:
            places = ", ".join("CAST(? AS TEXT)" if isinstance(value, RawText) else "?" for value in values)
            database.execute(insert + places + ")", [value.data if isinstance(value, RawText) else value for value in values])
        else:
            database.execute(plain, values)


def csv_value(value):
    """NULL is empty, text is quoted, numbers are not, blobs and text that is not UTF-8 are hexadecimal as x'…'."""
    if value is None or isinstance(value, int):
        return "" if value is None else str(value)
    if isinstance(value, float):
        return real_text(value) if abs(value) != float("inf") else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, (bytes, RawText)):
        return f"x'{(value if isinstance(value, bytes) else value.data).hex()}'"
    return '"' + value.replace('"', '""') + '"'


def write_csv(table, file):
    file.write(",".join(map(csv_value, table.columns)) + "\n")
    for row in table.rows():
        file.write(",".join(map(csv_value, row.values())) + "\n")


def json_row(row):
    """A row as one line of JSON, in which each value keeps its type. NULL is null."""
    import base64

    def value(one):
        if isinstance(one, (bytes, RawText)):
            kind, data = ("base64", one) if isinstance(one, bytes) else ("textBase64", one.data)
            return f'{{"{kind}":"{base64.b64encode(data).decode()}"}}'
        if isinstance(one, float):
            return real_text(one) if abs(one) != float("inf") else '{"real":"' + ("" if one > 0 else "-") + 'Infinity"}'
        return "null" if one is None else quoted(one) if isinstance(one, str) else str(one)
    return "{" + ",".join(f"{quoted(key)}:{value(one)}" for key, one in row.items()) + "}"
