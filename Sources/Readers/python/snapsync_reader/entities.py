"""Rows as JSON entities, and keys as bytes that sort as SQLite sorts them."""
import json
import math
import re
import struct
from json.decoder import scanstring

from .strict import MAXIMUM, MINIMUM, SURROGATE, depth, integer, real, real_text, refuse, unbase64, unique

STRING = re.compile(r'"([^"\\\x00-\x1f]*)"')
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
SPACE = re.compile(r"[ \t\n\r]*")
NESTED = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=refuse)
VALUES = json.JSONDecoder(object_pairs_hook=unique, parse_int=integer, parse_float=real, parse_constant=refuse)
LARGEST_ENTITY = 67_108_864


def quoted(text):
    """A string as canonical JSON has it."""
    return json.dumps(text, ensure_ascii=False)


def key_text(key):
    """A key outside of entities as canonical JSON, from its parsed form."""
    if isinstance(key, list):
        return "[" + ",".join(key_text(part) for part in key) + "]"
    if isinstance(key, dict):
        return '{"base64":' + quoted(key["base64"]) + "}"
    return quoted(key) if isinstance(key, str) else real_text(key) if isinstance(key, float) else str(int(key))


class RawText(str):
    """Text of SQLite that is not UTF-8. `data` has its bytes; the string itself has them as surrogate escapes."""

    @property
    def data(self):
        return self.encode("utf-8", "surrogateescape")


class Column:
    def __init__(self, name, type=None, optional=True, collation=None):
        self.name, self.type, self.optional, self.collation = name, type, optional, collation


def fold(text, collation):
    """The bytes of a text by which a collation compares it."""
    data = text.encode()
    if collation == "nocase":
        head, nul, rest = data.partition(b"\0")
        return head.lower() + nul + b"\0" * len(rest)
    return data.rstrip(b" ") if collation == "rtrim" else data


class Key:
    """The columns of a key, which turn values into comparable bytes."""

    def __init__(self, columns):
        self.columns = columns

    def encode(self, values):
        """The bytes of a key's values. Raises ValueError for a value that no key may have."""
        data = b"".join(self._one(column, value) for column, value in zip(self.columns, values))
        simple = len(values) == 1 and isinstance(values[0], str)
        if (len(fold(values[0], self.columns[0].collation)) if simple else len(data)) > 1024:
            raise ValueError("a key is longer than 1024 bytes")
        return data

    def _one(self, column, value):
        if isinstance(value, RawText) or value is None or value in (float("inf"), float("-inf")):
            raise ValueError("a key is NULL, infinite or text that is not UTF-8")
        if isinstance(value, str):
            return b"\x20" + fold(value, column.collation).replace(b"\0", b"\0\xff") + b"\0\0"
        if isinstance(value, bytes):
            return b"\x30" + value.replace(b"\0", b"\0\xff") + b"\0\0"
        below = float(value)
        if int(below) > value:
            below = math.nextafter(below, -math.inf)
        bits = struct.unpack(">Q", struct.pack(">d", below + 0.0))[0]
        bits = bits ^ (1 << 64) - 1 if bits >> 63 else bits | 1 << 63
        rest = value - int(below) if isinstance(value, int) else 0
        return b"\x10" + struct.pack(">QH", bits, rest)

    def written(self, value):
        """The bytes of a key as it is written outside of entities: a string, an integer, or an array. Raises ValueError."""
        parts = value if isinstance(value, list) else [value]
        alone = len(self.columns) == 1 and isinstance(parts[0], (str, int)) if len(parts) == 1 else False
        if len(parts) != len(self.columns) or alone == isinstance(value, list):
            raise ValueError(f"{value!r} is not the form of a key")
        values = [unbase64(p["base64"]) if isinstance(p, dict) and list(p) == ["base64"] else p for p in parts]
        for column, part in zip(self.columns, values):
            folded = not isinstance(part, str) or fold(part, column.collation) == part.encode()
            whole = isinstance(part, float) and part == int(part) and MINIMUM <= part <= MAXIMUM
            if not folded or whole or isinstance(part, bool) or not isinstance(part, (str, int, float, bytes)):
                raise ValueError(f"{value!r} is not the form of a key")
        return self.encode(values)


class Schema:
    """A dataset's columns. Parses entities into dictionaries of the values that SQLite holds."""

    def __init__(self, columns, key):
        self.columns = {column.name: column for column in columns}
        self.names = [column.name for column in columns]
        self.key_names = key
        self.key = Key([self.columns[name] for name in key])
        self.required = [column.name for column in columns if column.type and not column.optional]
        self.skipped = set()  # names of fields that the schema lacks

    def key_of(self, row):
        return self.key.encode([row.get(name) for name in self.key_names])

    def complete(self, row):
        """Checks that a whole entity lacks no column that it must have."""
        for name in self.required:
            if name not in row:
                raise ValueError(f"an entity lacks the column {name}")
        return row

    def finished(self, row):
        """A row with every column, in the order of the index, NULL as None."""
        return {name: row.get(name) for name in self.names}

    def entity(self, text, at):
        """Parses the object at `at`. Returns the row without its absent columns, and the position behind it."""
        begin, row = at, {}
        if text[at] != "{":
            raise ValueError("an entity is expected")
        if text[at + 1] == "}":
            return row, at + 2
        while True:
            name, at = self._string(text, at + 1)
            if text[at] != ":":
                raise ValueError("a colon is expected")
            column = self.columns.get(name)
            value, at = self._value(text, at + 1, column)
            if name in row or (not column and name in row.get(None, ())):
                raise ValueError(f"the name {name} occurs twice")
            if column:
                row[name] = value
            else:
                row.setdefault(None, set()).add(name)
                self.skipped.add(name)
            if text[at] == "}":
                break
            if text[at] != ",":
                raise ValueError("a comma is expected")
        row.pop(None, None)
        if (at - begin) * 4 > LARGEST_ENTITY and len(text[begin:at + 1].encode()) > LARGEST_ENTITY:
            raise ValueError("an entity is too large")
        return row, at + 1

    def _string(self, text, at):
        found = STRING.match(text, at)
        if found:
            return found[1], found.end()
        if text[at] != '"':
            raise ValueError("a string is expected")
        value, end = scanstring(text, at + 1, True)
        if SURROGATE.search(value):
            raise ValueError("a lone surrogate")
        return value, end

    def _number(self, text, at):
        found = NUMBER.match(text, at)
        if not found:
            raise ValueError("a value is expected")
        digits = found[0]
        return (real if "." in digits or "e" in digits or "E" in digits else integer)(digits), found.end()

    def _nested(self, text, at):
        """Any JSON value of at most 512 levels, and the position behind it."""
        end = NESTED.raw_decode(text, at)[1]
        part = text[at:end]
        if part.count("[") + part.count("{") > 512 and depth(part) > 512:
            raise ValueError("more than 512 levels")
        return end

    def _value(self, text, at, column):
        sign = text[at]
        type = column.type if column else "unknown"
        if type in ("json", "unknown"):
            begin = at
            at = SPACE.match(text, self._nested(text, SPACE.match(text, at).end())).end()
            return text[begin:at], at
        if sign == '"':
            value, end = self._string(text, at)
            if type == "blob":
                return unbase64(value), end
            if type in (None, "text"):
                return value, end
        elif sign == "{" and type is None:
            value, end = VALUES.raw_decode(text, at)
            (form, content), = value.items() if len(value) == 1 else [("", "")]
            if form == "real" and content in ("Infinity", "-Infinity"):
                return float(content), end
            if form == "base64":
                return unbase64(content), end
            if form == "textBase64":
                made = RawText(unbase64(content).decode("utf-8", "surrogateescape"))
                if SURROGATE.search(made):
                    return made, end
        elif sign in "tf" and type == "boolean":
            for word in ("true", "false"):
                if text.startswith(word, at):
                    return int(word == "true"), at + len(word)
        elif type in (None, "integer", "real"):
            value, end = self._number(text, at)
            if type != "integer" or isinstance(value, int):
                return value, end
        raise ValueError(f"a value of another type than {type or 'SQLite has'}")
