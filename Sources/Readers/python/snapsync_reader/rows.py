"""JSON as the format writes it: control documents, values of rows, and keys."""
import base64
import datetime
import json
import math
import re
import struct
from json.decoder import scanstring

from .files import need

INSTANT = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})\.([0-9]{3})([0-9]{3})?Z")
SURROGATE, SPACE, STRING = re.compile("[\ud800-\udfff]"), re.compile(r"[ \t\n\r]*"), re.compile(r'"([^"\\\x00-\x1f]*)"')
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
INFINITE, LARGEST_ENTITY = (math.inf, -math.inf), 67_108_864


def unique(pairs):
    need(len(dict(pairs)) == len(pairs), "a key occurs twice in an object")
    return dict(pairs)


def refuse(text):
    raise ValueError(f"{text} is not JSON")


def integer(text):
    need(text != "-0" and len(text) <= 20 and -(1 << 63) <= int(text) < 1 << 63, "an integer is -0 or beyond 64 bits")
    return int(text)


def real(text):
    need(float(text) not in INFINITE, "a number is out of range")
    return float(text)


VALUES = json.JSONDecoder(object_pairs_hook=unique, parse_int=integer, parse_float=real, parse_constant=refuse)
NESTED = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=refuse)


def check_depth(text, levels):
    if text.count("[") + text.count("{") > levels:
        now = 0
        for sign in re.findall(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', text, re.DOTALL):
            now += (sign in "[{") - (sign in "]}") if len(sign) == 1 else 0
            need(now <= levels, f"more than {levels} levels")


def load(data):
    """A control document: no key twice, no lone surrogate, nothing after the end, at most 64 levels. Raises ValueError."""
    text = data.decode("utf-8")
    check_depth(text, 64)
    value = VALUES.decode(text)
    need("\\ud" not in text.lower() or not SURROGATE.search(json.dumps(value, ensure_ascii=False)), "a lone surrogate")
    return value


def instant(text):
    """The microseconds since year 1 of an instant in the one form that the format writes."""
    found = INSTANT.fullmatch(text)
    need(found and found[8] != "000", f"{text!r} is not an instant")
    moment = datetime.datetime(*(int(found[i]) for i in range(1, 7)), int(found[7]) * 1000 + int(found[8] or 0))
    return (moment - datetime.datetime.min) // datetime.timedelta(microseconds=1)


def unbase64(text):
    data = base64.b64decode(text, validate=True)
    need(base64.b64encode(data).decode() == text, "not canonical base64")
    return data


def quoted(text):
    return json.dumps(text, ensure_ascii=False)


def real_text(value):
    """The shortest text of a double, as canonical entities have it. Infinite numbers are an object."""
    if value in INFINITE:
        return '{"real":"%sInfinity"}' % ("-" if value < 0 else "")
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits, sign = (whole + fraction).lstrip("0"), "-" if math.copysign(1, value) < 0 else ""
    point = len(whole) + int(exponent or 0) - len(whole + fraction) + len(digits)
    digits = digits.rstrip("0")
    if not digits:
        return sign + "0.0"
    if 0.0001 <= abs(value) <= 9007199254740992:
        return sign + (f"0.{'0' * -point}{digits}" if point <= 0 else f"{digits[:point].ljust(point, '0')}.{digits[point:] or '0'}")
    return f"{sign}{digits[0]}{'.' * (len(digits) > 1)}{digits[1:]}e{'-' if point < 1 else '+'}{abs(point - 1):02}"


def key_text(key):
    """A key outside of entities as canonical JSON, from its parsed form."""
    if isinstance(key, list):
        return "[" + ",".join(map(key_text, key)) + "]"
    if isinstance(key, dict):
        return '{"base64":' + quoted(key["base64"]) + "}"
    return quoted(key) if isinstance(key, str) else real_text(key) if isinstance(key, float) else str(int(key))


class RawText(str):
    """Text of SQLite that is not UTF-8. `data` has its bytes, the string itself has them as surrogate escapes."""

    @property
    def data(self):
        return self.encode("utf-8", "surrogateescape")


class Column:
    def __init__(self, name, type=None, optional=True, collation=None):
        self.name, self.type, self.optional, self.collation = name, type, optional, collation

    def fold(self, text):
        """The bytes of a text by which the column compares it."""
        data = text.encode()
        if self.collation == "nocase":
            head, nul, rest = data.partition(b"\0")
            return head.lower() + nul + bytes(len(rest))
        return data.rstrip(b" ") if self.collation == "rtrim" else data

    def key_bytes(self, value):
        """A value of a key as bytes that sort as SQLite sorts the values."""
        need(value is not None and value not in INFINITE and not isinstance(value, RawText), "a key is NULL, infinite or not UTF-8")
        if isinstance(value, str):
            return b"\x20" + self.fold(value).replace(b"\0", b"\0\xff") + b"\0\0"
        if isinstance(value, bytes):
            return b"\x30" + value.replace(b"\0", b"\0\xff") + b"\0\0"
        below = float(value)
        below = math.nextafter(below, -math.inf) if int(below) > value else below
        bits = struct.unpack(">Q", struct.pack(">d", below + 0.0))[0]
        bits = bits ^ (1 << 64) - 1 if bits >> 63 else bits | 1 << 63
        return b"\x10" + struct.pack(">QH", bits, value - int(below) if isinstance(value, int) else 0)


class Schema:
    """A dataset's columns. Parses entities into dictionaries of the values that SQLite holds."""

    def __init__(self, columns, key):
        self.columns, self.names, self.key_names = {c.name: c for c in columns}, [c.name for c in columns], key
        self.key_columns = [self.columns[name] for name in key]
        self.required = [c.name for c in columns if c.type and not c.optional]

    def encode(self, values):
        """The bytes of a key's values. Raises ValueError for values that no key has."""
        data = b"".join(column.key_bytes(value) for column, value in zip(self.key_columns, values))
        is_text = len(values) == 1 and isinstance(values[0], str)
        need(len(self.key_columns[0].fold(values[0]) if is_text else data) <= 1024, "a key is longer than 1024 bytes")
        return data

    def key_of(self, row):
        return self.encode([row.get(name) for name in self.key_names])

    def written(self, key):
        """The bytes of a key as it is written outside of entities: a string, an integer, or an array. Raises ValueError."""
        values = key if isinstance(key, list) else [key]
        need(len(values) == len(self.key_names), "the number of a key's values")
        need(isinstance(key, list) != (len(values) == 1 and isinstance(values[0], (str, int))), "the form of a key")
        for column, value in zip(self.key_columns, values):
            is_whole = isinstance(value, float) and value == value // 1 and -(1 << 63) <= value < 1 << 63
            is_folded = not isinstance(value, str) or column.fold(value) == value.encode()
            need(isinstance(value, (str, int, float, dict)) and not isinstance(value, bool) and is_folded and not is_whole, "the form of a key")
        return self.encode([unbase64(value["base64"]) if isinstance(value, dict) else value for value in values])

    def finished(self, row):
        """A row with every column, in the order of the index, NULL as None."""
        return {name: row.get(name) for name in self.names}

    def entity(self, text, at, partial=False):
        """Parses the object at `at`. Returns the row without its absent columns, and the position behind it."""
        begin, row, end = at, {}, "{"
        need(text[at] == "{", "an entity is expected")
        at += text[at + 1] == "}"
        while text[at] != "}":
            need(text[at] == end, "a comma is expected")
            name, at = self.string(text, at + 1)
            need(text[at] == ":" and name not in row, f"the name {name} occurs twice, or no colon follows")
            column, end = self.columns.get(name), ","
            row[name], at = self._value(text, at + 1, column.type if column else "unknown")
        size = at + 1 - begin if (at - begin) * 4 < LARGEST_ENTITY else len(text[begin:at + 1].encode())
        need(size <= LARGEST_ENTITY and (partial or all(name in row for name in self.required)), "an entity is too large, or lacks a column")
        return row, at + 1

    def string(self, text, at):
        found = STRING.match(text, at)
        if found:
            return found[1], found.end()
        need(text[at] == '"', "a string is expected")
        value, end = scanstring(text, at + 1, True)
        need(not SURROGATE.search(value), "a lone surrogate")
        return value, end

    def _value(self, text, at, type):
        sign, begin = text[at], at
        if type in ("json", "unknown"):  # the bytes themselves
            end = NESTED.raw_decode(text, SPACE.match(text, at).end())[1]
            check_depth(text[begin:end], 512)
            end = SPACE.match(text, end).end()
            return text[begin:end], end
        if sign == '"' and type in (None, "text", "blob"):
            value, end = self.string(text, at)
            return unbase64(value) if type == "blob" else value, end
        if sign == "{" and type is None:
            value, end = VALUES.raw_decode(text, at)
            (form, content), = value.items()
            if form == "real" and content in ("Infinity", "-Infinity"):
                return float(content), end
            data = unbase64(content)
            raw = RawText(data.decode("utf-8", "surrogateescape"))
            need(form == "base64" or (form == "textBase64" and SURROGATE.search(raw)), "an object that is no value")
            return data if form == "base64" else raw, end
        if type == "boolean":
            word = "true" if sign == "t" else "false"
            need(text.startswith(word, at), "a boolean is expected")
            return int(sign == "t"), at + len(word)
        found = NUMBER.match(text, at)
        need(found and type in (None, "integer", "real"), f"a value of another type than {type or 'SQLite has'}")
        is_real = any(mark in found[0] for mark in ".eE")
        need(not is_real or type != "integer", "a real number in a column of integers")
        return (real if is_real else integer)(found[0]), found.end()
