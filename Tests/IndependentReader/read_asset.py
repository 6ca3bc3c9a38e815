#!/usr/bin/env python3
"""Reads a snapshot asset of format version 1 and checks all of it; written from docs/format.md alone.

usage: read_asset.py ASSET INDEX [--quiet]

Prints the container's JSON, exactly the decompressed file; with --quiet, one line of facts. Exit status 1 and a reason on
standard error if the asset or the index is not what docs/format.md says.
"""
import hashlib, json, re, struct, sys, zlib
from base64 import b64decode, b64encode
from datetime import datetime

HEAD = bytes.fromhex("1f8b08000000000000ff")
MASK = (1 << 64) - 1
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}\Z")
STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
REAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:e[+-][0-9]{2,})?")
SPACE = re.compile(r"[ \t\n\r]*")
LONG = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


class Bad(Exception):
    pass


def need(condition, reason):
    if not condition:
        raise Bad(reason)


def quote(text):
    return '"' + "".join(LONG.get(c) or ("\\u%04x" % ord(c) if c < " " else c) for c in text) + '"'


def number_text(value):
    """A real number as the format writes it."""
    need(value == value and abs(value) != float("inf"), "a real number is not finite")
    digits, exponent = ("%r" % abs(value)).lower(), 0
    if "e" in digits:
        digits, power = digits.split("e")
        exponent = int(power)
    whole, _, fraction = digits.partition(".")
    exponent += len(whole)
    digits = whole + fraction
    exponent -= len(digits) - len(digits.lstrip("0"))
    digits = digits.strip("0")
    sign = "-" if struct.pack(">d", value)[0] & 0x80 else ""
    if not digits:
        return sign + "0.0"
    # The number is 0.DIGITS * 10^exponent.
    if 0.0001 <= abs(value) <= 2.0**53:
        if exponent <= 0:
            return sign + "0." + "0" * -exponent + digits
        padded = digits.ljust(exponent, "0")
        return sign + padded[:exponent] + "." + (padded[exponent:] or "0")
    mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return "%s%se%s%02d" % (sign, mantissa, "+" if exponent > 0 else "-", abs(exponent - 1))


def number_bytes(value):
    """The bytes of a number in an encoded key: the greatest double that is not above it, and what the number has on top."""
    double = float(value)
    if type(value) is int and int(double) > value:
        double = struct.unpack(">d", struct.pack(">q", struct.unpack(">q", struct.pack(">d", double))[0] + (-1 if double > 0 else 1)))[0]
    rest = value - int(double) if type(value) is int else 0
    bits = struct.unpack(">Q", struct.pack(">d", double + 0.0))[0]
    return b"\x10" + struct.pack(">QH", ~bits & MASK if bits >> 63 else bits | 1 << 63, rest)


def folded(text, collation):
    if collation == "rtrim":
        return text.rstrip(" ")
    if collation == "nocase":
        head, zero, rest = text.partition("\0")
        head = "".join(c.lower() if "A" <= c <= "Z" else c for c in head)
        return head + zero + "\0" * len(rest.encode())
    return text


def key_columns(index):
    names = index["key"] if isinstance(index["key"], list) else [index["key"]]
    columns = {c["name"]: c for c in index["columns"]}
    return [columns[name] for name in names]


def outside(values, index):
    """A key as it stands outside entities: the value of one column, if that is a text or an integer, else a list."""
    shown = []
    for value, column in zip(values, key_columns(index)):
        need(not isinstance(value, tuple) and value not in (float("inf"), -float("inf")), "a value that no key has")
        if isinstance(value, str):
            shown.append(folded(value, column.get("collation")))
        elif isinstance(value, bytes):
            shown.append({"base64": b64encode(value).decode()})
        elif isinstance(value, float) and value == int(value) and -(1 << 63) <= value < 1 << 63:
            shown.append(int(value))
        else:
            shown.append(int(value) if isinstance(value, bool) else value)
    return shown[0] if len(shown) == 1 and isinstance(shown[0], (str, int)) else shown


def encoded(key):
    """The bytes of a key, from its values as they stand outside entities."""
    result = b""
    for value in key if isinstance(key, list) else [key]:
        if isinstance(value, str):
            result += b"\x20" + value.encode().replace(b"\0", b"\0\xff") + b"\0\0"
        elif isinstance(value, dict):
            result += b"\x30" + b64decode(value["base64"], validate=True).replace(b"\0", b"\0\xff") + b"\0\0"
        else:
            result += number_bytes(value)
    return result


def cut_hash(key):
    h = 0xCBF29CE484222325
    for byte in encoded(key) if isinstance(key, list) else str(key).encode():
        h = (h ^ byte) * 0x100000001B3 & MASK
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD & MASK
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 & MASK
    return h ^ h >> 33


def ascending(keys):
    return all(encoded(a) < encoded(b) for a, b in zip(keys, keys[1:]))


def unique(pairs):
    need(len({name for name, _ in pairs}) == len(pairs), "a name stands twice")
    return dict(pairs)


def no_constant(name):
    raise Bad("%s is not JSON" % name)


def instant(text):
    match = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{3}|\d{6})Z", text, re.A)
    need(match and not (len(match[2]) == 6 and match[2].endswith("000")), "an instant is not in the format's form")
    try:
        datetime.strptime(match[1], "%Y-%m-%dT%H:%M:%S")
    except ValueError:
        raise Bad("no such date")


def moment(text):
    """An instant's text in a form that has the order of the instants."""
    return text[:-1].ljust(26, "0")


def is_key(value, index):
    def is_integer(value):
        return type(value) is int and -(1 << 63) <= value < 1 << 63
    columns = key_columns(index)
    parts = value if isinstance(value, list) else [value]
    if len(parts) != len(columns) or isinstance(value, list) == (len(parts) == 1 and isinstance(parts[0], (str, int))):
        return False
    for part, column in zip(parts, columns):
        checks = {
            "text": lambda: isinstance(part, str) and folded(part, column.get("collation")) == part,
            "integer": lambda: is_integer(part),
            "boolean": lambda: type(part) is int and part in (0, 1),
            "real": lambda: is_integer(part) or isinstance(part, float) and not (part == int(part) and -(1 << 63) <= part < 1 << 63),
            "blob": lambda: isinstance(part, dict) and list(part) == ["base64"] and b64encode(b64decode(part["base64"], validate=True)).decode() == part["base64"],
        }
        kind = column.get("type")
        if not (checks[kind]() if kind else any(checks[k]() for k in ("text", "real", "blob"))):
            return False
    return (len(value.encode()) if isinstance(value, str) else 8 if isinstance(value, int) else len(encoded(value))) <= 1024


# The index.

def member_text(member):
    return '"offset":%d,"length":%d,"rawLength":%d,"sha256":"%s","rawSha256":"%s"}' % tuple(
        member[name] for name in ("offset", "length", "rawLength", "sha256", "rawSha256"))


def key_text(key):
    if isinstance(key, list):
        return "[%s]" % ",".join(key_text(part) for part in key)
    if isinstance(key, dict):
        return '{"base64":%s}' % quote(key["base64"])
    return quote(key) if isinstance(key, str) else number_text(key) if isinstance(key, float) else str(key)


def index_text(index):
    """The one text that an index of these contents has."""
    key = "[%s]" % ",".join(map(quote, index["key"])) if isinstance(index["key"], list) else quote(index["key"])
    text = '{"formatVersion":%d,"dataset":%s,"key":%s' % (index["formatVersion"], quote(index["dataset"]), key)
    if "timestamp" in index:
        text += ',"timestamp":' + quote(index["timestamp"])
    columns = [
        '{"name":%s%s%s}' % (
            quote(c["name"]), ',"type":%s,"optional":%s' % (quote(c["type"]), "true" if c["optional"] else "false") if "type" in c else "",
            ',"collation":' + quote(c["collation"]) if "collation" in c else "")
        for c in index["columns"]]
    text += ',\n"columns":[\n' + ",\n".join(columns) + "\n],\n"
    text += '"recordCount":%d,"blockEntities":%d,"size":%d,"rawSize":%d,\n' % tuple(index[n] for n in ("recordCount", "blockEntities", "size", "rawSize"))
    text += '"header":{' + member_text(index["header"]) + ',\n"blocks":['
    blocks = ['{"firstKey":%s,"count":%d,%s' % (key_text(b["firstKey"]), b["count"], member_text(b)) for b in index["blocks"]]
    text += ("\n" + ",\n".join(blocks) + "\n" if blocks else "") + '],\n"tail":{' + member_text(index["tail"]) + "}\n"
    return text


def read_index(data):
    need(len(data) <= 67108864, "the index is too large")
    index = json.loads(data.decode("utf-8"), object_pairs_hook=unique, parse_constant=no_constant)
    need(isinstance(index, dict) and index.get("formatVersion") == 1, "not an index of format version 1")
    need(index_text(index).encode() == data, "the index is not in canonical form")
    need(NAME.match(index["dataset"]) and index["dataset"] not in ("syncTimestamp", "after", "held", "deletions", "instants", "born", "columns"), "the dataset's name is not allowed")
    columns = {c["name"]: c for c in index["columns"]}
    need(1 <= len(columns) == len(index["columns"]) <= 1000, "the columns' number or names are not allowed")
    need(all(1 <= len(n.encode()) <= 128 and not re.search(r"[\x00-\x1f\x7f]", n) for n in columns), "a column's name is not allowed")
    need(all(c.get("type", "text") in ("text", "integer", "real", "boolean", "json", "blob") for c in columns.values()), "an unknown type")
    names = index["key"] if isinstance(index["key"], list) else [index["key"]]
    need(not isinstance(index["key"], list) or len(names) > 1, "a key of one column is no array")
    need(len(set(names)) == len(names) and all(n in columns for n in names), "the key is not among the columns")
    need(all(columns[n].get("type") != "json" and not columns[n].get("optional") for n in names), "the key cannot be a key")
    need(all("collation" not in c or c["collation"] in ("nocase", "rtrim") and c.get("type", "text") == "text" and c["name"] in names for c in columns.values()), "a collation is out of place")
    need("timestamp" not in index or index["timestamp"] in columns, "the timestamp is not among the columns")
    need(1 <= index["blockEntities"] <= 65536, "blockEntities is out of range")
    offset = 0
    for limit, member in [(256, index["header"])] + [(68157444, b) for b in index["blocks"]] + [(67108864, index["tail"])]:
        need(member["offset"] == offset and member["length"] >= 20, "a member does not begin where the one before ends")
        need(1 <= member["rawLength"] <= min(limit, member["length"] * 1032), "a member's raw length is beyond its limit")
        need(all(re.fullmatch("[0-9a-f]{64}", member[n]) for n in ("sha256", "rawSha256")), "a hash is not one")
        offset += member["length"]
    for block in index["blocks"]:
        need(is_key(block["firstKey"], index), "a first key is not a key")
        need(1 <= block["count"] <= block["rawLength"] // 8, "a block's count does not fit its size")
    need(ascending([b["firstKey"] for b in index["blocks"]]), "first keys do not ascend")
    need(index["recordCount"] == sum(b["count"] for b in index["blocks"]), "recordCount does not add up")
    need(index["size"] == offset, "size does not add up")
    need(index["rawSize"] == sum(m["rawLength"] for m in [index["header"], index["tail"]] + index["blocks"]), "rawSize does not add up")
    return index


# Members.

def inflate(asset, member, separator):
    data = asset[member["offset"]:member["offset"] + member["length"]]
    need(len(data) == member["length"], "the asset is cut")
    need(hashlib.sha256(data).hexdigest() == member["sha256"], "a member does not match its hash")
    need(data[:10] == HEAD, "a member does not begin as it must")
    stream = zlib.decompressobj(-15)
    raw = stream.decompress(data[10:-8], member["rawLength"] + 1)
    need(stream.eof and not stream.unused_data and len(raw) == member["rawLength"], "a deflate stream is not of the declared length")
    need(data[-8:] == struct.pack("<II", zlib.crc32(raw), len(raw) & 0xFFFFFFFF), "a checksum or length does not match")
    need(hashlib.sha256(raw[separator:]).hexdigest() == member["rawSha256"], "raw bytes do not match their hash")
    return raw


# Entities.

def json_column(text, position):
    """The end of the JSON value at a position, white space around it included."""
    start = SPACE.match(text, position).end()
    try:
        _, end = json.JSONDecoder(parse_constant=no_constant).raw_decode(text, start)
    except (json.JSONDecodeError, RecursionError):
        raise Bad("a JSON column is not JSON")
    depth = deepest = 0
    for token in re.finditer(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', text[start:end]):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        deepest = max(deepest, depth)
    need(deepest <= 512, "a JSON column is nested too deeply")
    return SPACE.match(text, end).end()


def plain_value(text, position):
    """The value of a column without a type, whose text says its storage class."""
    for word, meaning in (('{"real":"Infinity"}', float("inf")), ('{"real":"-Infinity"}', -float("inf"))):
        if text.startswith(word, position):
            return meaning, position + len(word)
    for label in ('{"base64":', '{"textBase64":'):
        if text.startswith(label, position):
            result, end = value(text, position + len(label), "blob")
            need(text.startswith("}", end), "an object that stands for a value has more than one member")
            if label == '{"textBase64":':
                try:
                    result.decode("utf-8")
                except UnicodeDecodeError:
                    return ("text", result), end + 1
                raise Bad("text in UTF-8 is not a string")
            return result, end + 1
    if text.startswith('"', position):
        return value(text, position, "text")
    match = REAL.match(text, position)
    need(match, "a value is of no known form")
    return value(text, position, "integer" if INTEGER.fullmatch(match[0]) else "real")


def value(text, position, kind):
    """The value at a position, and where it ends; refuses any but the canonical text."""
    if kind == "json":
        end = json_column(text, position)
        return text[position:end], end
    if kind == "boolean":
        for word, meaning in (("true", True), ("false", False)):
            if text.startswith(word, position):
                return meaning, position + len(word)
        raise Bad("a boolean is neither true nor false")
    if kind is None:
        return plain_value(text, position)
    match = (STRING if kind in ("text", "blob") else REAL if kind == "real" else INTEGER).match(text, position)
    need(match, "a value is not of its column's type")
    token = match[0]
    if kind in ("text", "blob"):
        result = json.loads(token)
        need(quote(result) == token, "a string is not in canonical form")
        if kind == "blob":
            result = b64decode(result, validate=True)
            need('"%s"' % b64encode(result).decode() == token, "a blob is not in canonical base64")
    elif kind == "integer" or INTEGER.fullmatch(token):
        result = int(token)
        need(-(1 << 63) <= result < 1 << 63 and str(result) == token, "an integer is not in canonical form")
    else:
        result = float(token)
        need(number_text(result) == token, "a real number is not in canonical form")
    return result, match.end()


def entity(text, position, index):
    """The key of the entity at a position, and where the entity ends."""
    found, separator = {}, "{"
    need(text.startswith("{", position), "an entity is expected")
    for column in index["columns"]:
        label = separator + quote(column["name"]) + ":"
        if not text.startswith(label, position):
            need(column.get("optional", True), "a required column is missing")
            continue
        result, position = value(text, position + len(label), column.get("type"))
        separator = ","
        found[column["name"]] = result
    need(text.startswith("}", position), "something in an entity is not of the schema")
    need(all(column["name"] in found for column in key_columns(index)), "a column of the key is missing")
    return outside([found[column["name"]] for column in key_columns(index)], index), position + 1


def read_block(raw, index, number, keys):
    """Checks one block and adds its keys to the list."""
    block = index["blocks"][number]
    text = raw.decode("utf-8")
    # How many bytes lie before the next entity's separator, the block's own separator left out.
    before = -1 if number == 0 else -2
    position, found = 0, []
    while position < len(text):
        separator = "\n" if number == 0 and not found else ",\n"
        need(text.startswith(separator, position), "a separator is missing")
        key, end = entity(text, position + len(separator), index)
        need(is_key(key, index), "a key is not allowed")
        cuts = cut_hash(key) * index["blockEntities"] < 1 << 64
        if found:
            need(not cuts and before < 1048576, "an entity should have begun a block")
        elif number > 0:
            full = index["blocks"][number - 1]["rawLength"] - (1 if number == 1 else 2) >= 1048576
            need(cuts or full, "an entity should not have begun a block")
        found.append(key)
        length = len(text[position:end].encode())
        need(length - len(separator) <= 67108864, "an entity is too large")
        before += length
        position = end
    need(len(found) == block["count"], "a block's count does not match")
    need(found[0] == block["firstKey"], "a block's first key does not match")
    keys.extend(found)


def entry_text(entry, field):
    at = ',"%s":%s' % (field, quote(entry[field])) if field in entry else ""
    if "from" in entry:
        return '{"from":%s,"to":%s%s}' % (key_text(entry["from"]), key_text(entry["to"]), at)
    return '{"id":%s%s}' % (key_text(entry["id"]), at)


class Tail:
    """Reads the tail from left to right."""

    def __init__(self, text, index, entities, latest):
        self.text, self.position, self.index, self.latest = text, 0, index, latest
        self.places = {key_text(key): place for place, key in enumerate(entities)}
        self.held, self.deleted, self.instants = set(), set(), 0

    def accept(self, text):
        found = self.text.startswith(text, self.position)
        self.position += len(text) if found else 0
        return found

    def expect(self, text):
        need(self.accept(text), "the tail is not of the format's form")

    def value(self):
        value, end = json.JSONDecoder(object_pairs_hook=unique, parse_constant=no_constant).raw_decode(self.text, self.position)
        text, self.position = self.text[self.position:end], end
        return value, text

    def entries(self, field):
        """The entries of a list, whose bracket was read, and the keys that they name."""
        found = []
        while not found or self.accept(","):
            entry, text = self.value()
            need(text == entry_text(entry, field), "the tail is not in canonical form")
            found.append(entry)
        self.expect("]")
        keys = [key for e in found for key in ([e["from"], e["to"]] if "from" in e else [e["id"]])]
        need(all(is_key(key, self.index) for key in keys), "an id in the tail is not a key")
        need(ascending(keys), "ids in the tail do not ascend")
        for e in found:
            if field in e:
                instant(e[field])
                need(moment(e[field]) <= moment(self.latest), "an instant is later than the version")
        return found

    def list_instants(self, optional=False):
        for e in self.entries("at"):
            need(optional or "at" in e, "an instant is missing")
            if "from" in e:
                need(key_text(e["from"]) in self.places and key_text(e["to"]) in self.places, "a run names an entity that is not there")
                self.instants += self.places[key_text(e["to"])] - self.places[key_text(e["from"])] + 1
            else:
                need(key_text(e["id"]) in self.places or key_text(e["id"]) in self.held, "an instant of an entity that is not there")
                self.instants += 1

    def read(self):
        self.expect("\n]")
        if self.accept(',"held":['):
            keys = []
            while not keys or self.accept(","):
                key, self.position = entity(self.text, self.position, self.index)
                need(is_key(key, self.index) and key_text(key) not in self.places, "a held entity's key is not allowed")
                keys.append(key)
            self.expect("]")
            need(ascending(keys), "ids in the tail do not ascend")
            self.held = set(map(key_text, keys))
        if self.accept(',"deletions":['):
            for e in self.entries("deletedAt"):
                need("id" in e and "deletedAt" in e, "a run of entities in a list of deletions")
                need(key_text(e["id"]) not in self.held and key_text(e["id"]) not in self.places, "an entity is there and deleted")
                self.deleted.add(key_text(e["id"]))
        if self.accept(',"instants":['):
            self.list_instants()
        if self.accept(',"born":['):
            self.list_instants(optional=True)
        if self.accept(',"columns":{'):
            names = []
            while not names or self.accept(","):
                name, text = self.value()
                need(isinstance(name, str) and text == quote(name), "the tail is not in canonical form")
                need(name in [c["name"] for c in self.index["columns"]], "a column has no instants")
                names.append(name.encode())
                self.expect(":[")
                self.list_instants(optional=True)
            need(all(a < b for a, b in zip(names, names[1:])), "names of columns do not ascend")
            self.expect("}")
        self.expect("}\n")
        need(self.position == len(self.text), "something follows the tail")


def read(asset, index_data):
    index = read_index(index_data)
    need(len(asset) == index["size"], "the asset is not as long as the index says")
    header = inflate(asset, index["header"], 0)
    match = re.fullmatch(r'\{"syncTimestamp":"([^"]*)","([^"]*)":\[', header.decode("ascii"))
    need(match and match[2] == index["dataset"], "the header is not that of the dataset")
    instant(match[1])
    parts, keys = [header], []
    for number, block in enumerate(index["blocks"]):
        raw = inflate(asset, block, 1 if number == 0 else 2)
        read_block(raw, index, number, keys)
        parts.append(raw)
    need(ascending(keys), "keys do not ascend")
    tail = inflate(asset, index["tail"], 0)
    found = Tail(tail.decode("utf-8"), index, keys, match[1])
    found.read()
    facts = "%s: %d entities in %d blocks, %d held, %d deletions, %d instants, %d bytes" % (
        index["dataset"], len(keys), len(index["blocks"]), len(found.held), len(found.deleted), found.instants, len(asset))
    return b"".join(parts + [tail]), facts


def main():
    arguments = [a for a in sys.argv[1:] if a != "--quiet"]
    if len(arguments) != 2:
        sys.exit(__doc__)
    with open(arguments[0], "rb") as asset, open(arguments[1], "rb") as index:
        try:
            container, facts = read(asset.read(), index.read())
        except (Bad, ValueError, KeyError, TypeError, zlib.error) as error:
            sys.exit("refused: %s" % error)
    if "--quiet" in sys.argv:
        print(facts)
    else:
        sys.stdout.buffer.write(container)


if __name__ == "__main__":
    main()
