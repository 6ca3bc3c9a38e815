"""Snapshot assets, their block indexes, and change assets."""
import hashlib
import re
import zlib
from bisect import bisect_left, bisect_right

from .entities import VALUES, Column, Schema, key_text, quoted
from .errors import Damaged, Incompatible, Missing
from .source import read_whole
from .strict import instant, load

HEAD = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
RESERVED = {"syncTimestamp", "after", "held", "deletions", "instants", "born", "columns"}
LARGEST_INDEX, LARGEST_TAIL, LARGEST_BLOCK, LARGEST_CHANGES = 67_108_864, 67_108_864, 68_157_444, 16_777_216
TYPES = {"text", "integer", "real", "boolean", "json", "blob"}


def digest(data):
    return hashlib.sha256(data).hexdigest()


def inflate(data, raw_length, path, what):
    """The raw bytes of one gzip member in the format's exact form. `raw_length` is a hard limit."""
    engine = zlib.decompressobj(-15)
    try:
        raw = engine.decompress(data[10:], raw_length + 1)
        if data[:10] != HEAD or not engine.eof or len(engine.unused_data) != 8 or len(raw) != raw_length:
            raise ValueError("not one gzip member of the stated length")
        if engine.unused_data != zlib.crc32(raw).to_bytes(4, "little") + (raw_length % 2**32).to_bytes(4, "little"):
            raise ValueError("the CRC or the length at its end is wrong")
    except (zlib.error, ValueError) as error:
        raise Damaged(path, f"{what}: {error}") from error
    return raw


class Index:
    """A block index that was checked whole."""

    def __init__(self, data, path):
        if not data.startswith(b'{"formatVersion":1,'):
            number = re.match(rb'\{"formatVersion":([0-9]+),', data)
            raise Incompatible(path, f"format version {number[1].decode()}") if number else Damaged(path, "not a block index")
        self.path = path
        try:
            self._read(data)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise Damaged(path, f"the block index is not valid: {error}") from error

    def _read(self, data):
        top = load(data)
        columns = [Column(c["name"], c.get("type"), c.get("optional", True), c.get("collation")) for c in top["columns"]]
        self.dataset, self.timestamp = top["dataset"], top.get("timestamp")
        key = top["key"] if isinstance(top["key"], list) else [top["key"]]
        self.count, self.size, self.raw_size = top["recordCount"], top["size"], top["rawSize"]
        self.header, self.blocks, self.tail = top["header"], top["blocks"], top["tail"]
        if self._text(top) != data:
            raise ValueError("not the exact text of an index")
        require(re.fullmatch("[A-Za-z][A-Za-z0-9_]{0,63}", self.dataset) and self.dataset not in RESERVED, "the dataset's name")
        names = [column.name for column in columns]
        require(1 <= len(names) <= 1000 and len(set(names)) == len(names), "the number of columns, or a name twice")
        for c in columns:
            require(1 <= len(c.name.encode()) <= 128 and not re.search("[\0-\x1f\x7f-\x9f]", c.name), "a column's name")
            require(c.type is None or c.type in TYPES, "a column's type")
            require(c.collation is None or (c.name in key and c.collation in ("nocase", "rtrim")), "a collation")
        require(set(key) <= set(names) and len(set(key)) == len(key) > 0, "the key's columns")
        require(isinstance(top["key"], str) or len(key) > 1, "the form of the key")
        require(self.timestamp is None or self.timestamp in names, "the timestamp's column")
        require(1 <= top["blockEntities"] <= 65536, "blockEntities")
        self.schema = Schema(columns, key)
        members, offset, raw = [self.header, *self.blocks, self.tail], 0, 0
        for member in members:
            require(member["offset"] == offset and 0 < member["length"], "an offset")
            require(0 < member["rawLength"] <= 1032 * member["length"], "a raw length")
            require(re.fullmatch("[0-9a-f]{64}", member["sha256"]) and re.fullmatch("[0-9a-f]{64}", member["rawSha256"]), "a hash")
            offset, raw = offset + member["length"], raw + member["rawLength"]
        require(offset == self.size and raw == self.raw_size, "a sum of lengths")
        require(self.header["rawLength"] <= 256 and self.tail["rawLength"] <= LARGEST_TAIL, "the length of header or tail")
        self.first = [self.schema.key.written(block["firstKey"]) for block in self.blocks]
        require(all(a < b for a, b in zip(self.first, self.first[1:])), "the order of first keys")
        require(all(1 <= b["count"] * 8 <= b["rawLength"] <= LARGEST_BLOCK for b in self.blocks), "a block's count or length")
        require(sum(block["count"] for block in self.blocks) == self.count, "the sum of counts")

    def _text(self, top):
        """The one text that the index's values have."""
        def member(m, begin=""):
            return (f'{{{begin}"offset":{m["offset"]:d},"length":{m["length"]:d},"rawLength":{m["rawLength"]:d},'
                    f'"sha256":{quoted(m["sha256"])},"rawSha256":{quoted(m["rawSha256"])}}}')

        def column(c):
            typed = f',"type":{quoted(c["type"])},"optional":{"true" if c["optional"] else "false"}' if "type" in c else ""
            return f'{{"name":{quoted(c["name"])}{typed}' + (f',"collation":{quoted(c["collation"])}' if "collation" in c else "") + "}"

        key = top["key"]
        names = quoted(key) if isinstance(key, str) else "[" + ",".join(map(quoted, key)) + "]"
        blocks = [member(b, f'"firstKey":{key_text(b["firstKey"])},"count":{b["count"]:d},') for b in top["blocks"]]
        return (f'{{"formatVersion":1,"dataset":{quoted(top["dataset"])},"key":{names},'
                + (f'"timestamp":{quoted(top["timestamp"])},' if "timestamp" in top else "")
                + '\n"columns":[\n' + ",\n".join(map(column, top["columns"])) + f'\n],\n"recordCount":{top["recordCount"]:d},'
                f'"blockEntities":{top["blockEntities"]:d},"size":{top["size"]:d},"rawSize":{top["rawSize"]:d},\n"header":{member(top["header"])},\n'
                + ('"blocks":[\n' + ",\n".join(blocks) + "\n],\n" if blocks else '"blocks":[],\n') + f'"tail":{member(top["tail"])}}}\n').encode()


def require(condition, what):
    if not condition:
        raise ValueError(what)


class Tail:
    """What stands behind the entities: held entities, and keys whose entities must or must not exist."""

    def __init__(self, text, at, schema, newest, runs):
        self.schema, self.held, self.deleted, self.named, self.run_ends = schema, {}, [], [], []
        self.newest, self.runs = newest, runs
        last = ""
        while text[at] == ",":
            name = text[at + 2:text.index('"', at + 2)]
            at += len(name) + 4
            order = ["", "held", "deletions", "instants", "born", "columns"]
            require(name in order and order.index(name) > order.index(last) and text[at - 1] == ":", "an unknown list, or lists in another order")
            last = name
            if name == "held":
                at = self._held(text, at)
                continue
            value, at = VALUES.raw_decode(text, at)
            if name == "columns":
                require(list(value) == sorted(value, key=str.encode), "the order of columns")
                for column, entries in value.items():
                    require(column not in schema.key_names and (column in schema.columns or not runs), "a column of instants")
                    self._entries(entries, True)
            elif name == "deletions":
                for entry in value:
                    require(list(entry) == ["id", "deletedAt"], "a tombstone")
                    require(instant(entry["deletedAt"]) <= newest, "an instant after the container's")
                    self.deleted.append(schema.key.written(entry["id"]))
                require(ascending(self.deleted), "the order of tombstones")
            else:
                self._entries(value, name == "born")
        require(text[at:] == "}\n", "the end of the container")
        require(not set(self.held).intersection(self.deleted), "a tombstone of a held entity")

    def _held(self, text, at):
        require(text[at] == "[", "the list of held entities")
        keys = []
        while text[at] != "]":
            require(text[at] == ("," if keys else "["), "the list of held entities")
            row, at = self.schema.entity(text, at + 1)
            keys.append(self.schema.key_of(self.schema.complete(row)))
            self.held[keys[-1]] = row
        require(keys and ascending(keys), "the order of held entities")
        return at + 1

    def _entries(self, entries, bare):
        keys, within = [], []
        require(isinstance(entries, list) and entries, "an empty list")
        for entry in entries:
            if list(entry) == ["from", "to", "at"] and self.runs:
                ends = [self.schema.key.written(entry["from"]), self.schema.key.written(entry["to"])]
                self.run_ends.extend(ends)
            else:
                require(list(entry) == ["id", "at"] or (bare and list(entry) == ["id"]), "an entry of instants")
                ends = [self.schema.key.written(entry["id"])]
                within.extend(ends)
            require("at" not in entry or instant(entry["at"]) <= self.newest, "an instant after the container's")
            keys.extend(ends)
        require(ascending(keys), "the order of instants")
        self.named.append(within)

    def watch(self):
        """A function to call with each entity's key in order, and with None at the end. Raises ValueError for a list that does not fit."""
        wanted = sorted({key for keys in self.named for key in keys if key not in self.held} | set(self.run_ends))
        unwanted = sorted([*self.deleted, *self.held])
        positions = [0, 0]

        def see(key):
            at = positions[0]
            if at < len(wanted) and (key is None or wanted[at] <= key):
                require(wanted[at] == key, "instants of an entity that is not in the file")
                positions[0] += 1
            while positions[1] < len(unwanted) and key is not None and unwanted[positions[1]] <= key:
                require(unwanted[positions[1]] != key, "an entity that is also deleted or held")
                positions[1] += 1
        return see


def ascending(keys):
    return all(a < b for a, b in zip(keys, keys[1:]))


class Snapshot:
    """One snapshot asset. `opened(data, kind)` takes the encryption off, if the zone has any."""

    def __init__(self, origin, folder, asset, opened):
        self.origin, self.path, self.opened = origin, f"{folder}/{asset['path']}", opened
        index_path = self.path[:-len(".json.gz")] + ".index.json"
        stated = asset.get("index")
        if not stated:
            raise Damaged(self.path, "a snapshot asset without a block index")
        data = whole(origin, index_path, stated, LARGEST_INDEX)
        self.index = Index(opened(data, "index", index_path), index_path)
        self.schema = self.index.schema
        if (self.index.size, self.index.raw_size) != (asset["size"], asset["rawSize"]):
            raise Damaged(index_path, "other sizes than the commit's")
        self.asset = asset

    def _stream(self, offset):
        try:
            stream, size = self.origin.open(self.path, offset)
        except FileNotFoundError as error:
            raise Missing(self.path, "the file is missing") from error
        if size is not None and size != self.asset["size"]:
            stream.close()
            raise (Missing if size < self.asset["size"] else Damaged)(self.path, f"{size} bytes, where the commit states {self.asset['size']}")
        return stream

    def _member(self, stream, member, what):
        data = b""
        while len(data) < member["length"]:
            part = stream.read(member["length"] - len(data))
            if not part:
                raise Missing(self.path, f"{what}: the file ends too early")
            data += part
        if digest(data) != member["sha256"]:
            raise Damaged(self.path, f"{what}: another SHA-256 than the index states")
        raw = inflate(self.opened(data, "member", self.path), member["rawLength"], self.path, what)
        separator = 0 if "count" not in member else 1 if member is self.index.blocks[0] else 2
        if digest(raw[separator:]) != member["rawSha256"]:
            raise Damaged(self.path, f"{what}: another rawSha256 than the index states")
        return raw

    def tail(self):
        """Reads the header and the tail, and so the container's time."""
        with self._stream(0) as stream:
            header = self._member(stream, self.index.header, "header")
        with self._stream(self.index.tail["offset"]) as stream:
            raw = self._member(stream, self.index.tail, "tail")
            if stream.read(1):
                raise Damaged(self.path, "more bytes than the commit states")
        try:
            found = re.fullmatch(rb'\{"syncTimestamp":"([^"]*)","' + self.index.dataset.encode() + rb'":\[', header)
            require(found, "not this dataset's header")
            self.timestamp = found[1].decode()
            require(raw[:2] == b"\n]", "the begin of the tail")
            return Tail(raw.decode(), 2, self.schema, instant(self.timestamp), True)
        except (ValueError, IndexError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise Damaged(self.path, f"header or tail: {error}") from error

    def block(self, number, stream=None):
        """The rows of one block, as pairs of key and row. Checks everything in the block."""
        member, what = self.index.blocks[number], f"block {number}"
        if stream is None:
            with self._stream(member["offset"]) as own:
                raw = self._member(own, member, what)
        else:
            raw = self._member(stream, member, what)
        try:
            text = raw.decode()
            made, at = [], 0
            while at < len(text):
                separator = ",\n" if number or made else "\n"
                require(text.startswith(separator, at), "a separator is expected")
                row, at = self.schema.entity(text, at + len(separator))
                made.append((self.schema.key_of(self.schema.complete(row)), row))
            require(len(made) == member["count"], "another number of entities than the index states")
            require(made[0][0] == self.index.first[number], "another first key than the index states")
            require(ascending([key for key, _ in made]), "the order of keys")
            last = number + 1 == len(self.index.first)
            require(last or made[-1][0] < self.index.first[number + 1], "the order of keys")
            return made
        except (ValueError, IndexError, TypeError, AttributeError, RecursionError) as error:
            raise Damaged(self.path, f"{what}: {error}") from error

    def rows(self):
        """All rows, as pairs of key and row, in the order of keys. Memory: one block and the tail."""
        see = self.tail().watch()
        try:
            with self._stream(0) as stream:
                self._member(stream, self.index.header, "header")
                for number in range(len(self.index.blocks)):
                    for key, row in self.block(number, stream):
                        see(key)
                        yield key, row
            see(None)
        except ValueError as error:
            raise Damaged(self.path, f"tail: {error}") from error

    def find(self, key):
        """The row with a key, or None. Reads one block at most."""
        number = bisect_right(self.index.first, key) - 1
        block = self.block(number) if number >= 0 else []
        at = bisect_left([one for one, _ in block], key)
        return block[at][1] if at < len(block) and block[at][0] == key else None


def whole(origin, path, stated, limit):
    """A file with the size and the SHA-256 that were stated for it."""
    if stated["size"] > limit:
        raise Damaged(path, f"a stated size of more than {limit} bytes")
    try:
        data = read_whole(origin, path, stated["size"])
    except FileNotFoundError as error:
        raise Missing(path, "the file is missing") from error
    if len(data) < stated["size"]:
        raise Missing(path, f"{len(data)} bytes, where {stated['size']} are stated")
    if digest(data) != stated["sha256"]:
        raise Damaged(path, "another SHA-256 than stated")
    return data


class Changes:
    """What the change assets of a version change in its snapshot: for each key ("row" | "held", row), ("patch", row, nulls) or ("deleted",)."""

    def __init__(self, snapshot, files, origin, folder, opened):
        self.by_key, self.timestamp, self.schema = {}, None, snapshot.schema
        before = snapshot.asset["path"]
        for asset in files:
            path = f"{folder}/{asset['path']}"
            if asset["rawSize"] > LARGEST_CHANGES or asset["rawSize"] > 1032 * asset["size"]:
                raise Damaged(path, "a stated raw size beyond the limit")
            data = opened(whole(origin, path, asset, LARGEST_CHANGES + 1024), "member", path)
            raw = inflate(data, asset["rawSize"], path, "the member")
            try:
                self._apply(raw.decode(), re.sub(r"(\.changes)?\.json\.gz$", "", before).split("/")[-1], snapshot.index.dataset)
            except (ValueError, IndexError, TypeError, KeyError, AttributeError, RecursionError) as error:
                raise Damaged(path, f"not a change asset that follows {before}: {error}") from error
            before = asset["path"]

    def _apply(self, text, after, dataset):
        head = re.match(r'\{"syncTimestamp":"([^"]*)","after":"([^"]*)","([^"]*)":\[', text)
        require(head and head[3] == dataset, "not this dataset's header")
        require(head[2] == after, "it stands on another asset")
        self.timestamp, at, keys, made = head[1], head.end(), [], {}
        while not text.startswith("\n]", at):
            separator = ",\n" if keys else "\n"
            require(text.startswith(separator, at), "a separator is expected")
            at += len(separator)
            if text[at] == "[":
                row, nulls, at = self._partial(text, at)
            else:
                row, at = self.schema.entity(text, at)
                nulls = None
                self.schema.complete(row)
            keys.append(self.schema.key_of(row))
            made[keys[-1]] = ("row", row) if nulls is None else ("patch", row, nulls)
        require(ascending(keys), "the order of keys")
        tail = Tail(text, at + 2, self.schema, instant(head[1]), False)
        see = tail.watch()
        for key in keys:
            see(key)
        see(None)
        made.update((key, ("held", row)) for key, row in tail.held.items())
        made.update((key, ("deleted",)) for key in tail.deleted)
        for key, change in made.items():
            earlier = self.by_key.get(key)
            if change[0] == "patch" and earlier:
                require(earlier[0] in ("row", "patch"), "a partial entity without the entity that it changes")
                row = {name: value for name, value in earlier[1].items() if name not in change[2]}
                row.update(change[1])
                nulls = (earlier[2] - set(change[1])) | change[2] if earlier[0] == "patch" else None
                change = ("row", row) if nulls is None else ("patch", row, nulls)
            self.by_key[key] = change

    def _partial(self, text, at):
        row, at = self.schema.entity(text, at + 1)
        nulls = set()
        while text[at] == ",":
            name, at = self.schema._string(text, at + 1)
            column = self.schema.columns.get(name)
            require(name not in nulls and name not in row and name not in self.schema.key_names, "a name twice, or of the key")
            require(column is None or column.type is None or column.optional, "NULL in a column that is not optional")
            nulls.add(name)
        require(text[at] == "]" and set(self.schema.key_names) <= set(row), "a partial entity")
        return row, nulls, at + 1

    def patched(self, row, change):
        merged = {name: value for name, value in row.items() if name not in change[2]}
        merged.update(change[1])
        return merged

    def over(self, rows):
        """The rows of the version, from those of its snapshot. Raises ValueError for a partial entity that has no row."""
        pending = sorted(self.by_key)[::-1]
        for key, row in rows:
            while pending and pending[-1] < key:
                yield from self._new(pending.pop())
            change = self.by_key.get(key)
            if change:
                pending.pop()
            if not change:
                yield key, row
            elif change[0] == "row":
                yield key, change[1]
            elif change[0] == "patch":
                yield key, self.patched(row, change)
        while pending:
            yield from self._new(pending.pop())

    def _new(self, key):
        change = self.by_key[key]
        require(change[0] != "patch", "a partial entity without the entity that it changes")
        if change[0] == "row":
            yield key, change[1]
