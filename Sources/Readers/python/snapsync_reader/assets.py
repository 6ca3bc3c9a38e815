"""Snapshot assets, their block indexes, and change assets."""
import hashlib
import re
import zlib
from bisect import bisect_left, bisect_right

from .files import Damaged, Incompatible, Missing, checked, need, read_whole
from .rows import VALUES, Column, Schema, instant, key_text, load, quoted

HEAD, HASH = b"\x1f\x8b\x08\0\0\0\0\0\0\xff", re.compile("[0-9a-f]{64}")
RESERVED = {"syncTimestamp", "after", "held", "deletions", "instants", "born", "columns"}
LARGEST_INDEX, LARGEST_TAIL, LARGEST_BLOCK, LARGEST_CHANGES = 67_108_864, 67_108_864, 68_157_444, 16_777_216
TYPES, NAME = {"text", "integer", "real", "boolean", "json", "blob"}, re.compile("[A-Za-z][A-Za-z0-9_]{0,63}")


def digest(data):
    return hashlib.sha256(data).hexdigest()


def whole(origin, path, stated, limit):
    """A file with the size and the SHA-256 that were stated for it."""
    data = read_whole(origin, path, min(stated["size"], limit))
    if len(data) < stated["size"]:
        raise Missing(path, f"{len(data)} bytes, where {stated['size']} are stated")
    if digest(data) != stated["sha256"]:
        raise Damaged(path, "another SHA-256 than stated")
    return data


def inflate(data, raw_length):
    """The raw bytes of one gzip member in the format's exact form. `raw_length` is a hard limit."""
    engine = zlib.decompressobj(-15)
    try:
        raw = engine.decompress(data[10:], raw_length + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    need(data[:10] == HEAD and engine.eof and len(engine.unused_data) == 8 and len(raw) == raw_length, "not one gzip member of the stated length")
    end = zlib.crc32(raw).to_bytes(4, "little") + (raw_length % 2**32).to_bytes(4, "little")
    need(engine.unused_data == end, "the CRC or the length at its end is wrong")
    return raw


def ascending(keys):
    return all(a < b for a, b in zip(keys, keys[1:]))


class Index:
    """A block index that was checked whole."""

    def __init__(self, data, path):
        number = re.match(rb'\{"formatVersion":([0-9]+),', data)
        if number and number[1] != b"1":
            raise Incompatible(path, f"format version {number[1].decode()}")
        self.path = path
        with checked(path, "the block index"):
            top = load(data)
            need(self._text(top) == data, "not the exact text of an index")
            self._check(top)

    def _check(self, top):
        columns = [Column(c["name"], c.get("type"), c.get("optional", True), c.get("collation")) for c in top["columns"]]
        key, names = [top["key"]] if isinstance(top["key"], str) else top["key"], [column.name for column in columns]
        self.dataset, self.count, self.blocks, self.header, self.tail = (top[n] for n in ("dataset", "recordCount", "blocks", "header", "tail"))
        need(NAME.fullmatch(self.dataset) and self.dataset not in RESERVED, "the dataset's name")
        need(1 <= len(names) <= 1000 and len(set(names)) == len(names), "the number of columns, or a name twice")
        for c in columns:
            need(1 <= len(c.name.encode()) <= 128 and not re.search("[\0-\x1f\x7f-\x9f]", c.name) and c.type in TYPES | {None}, "a column")
            need(c.collation is None or (c.name in key and c.collation in ("nocase", "rtrim")), "a collation")
        need(set(key) <= set(names) and len(set(key)) == len(key) > isinstance(top["key"], list), "the key's columns")
        need(top.get("timestamp", names[0]) in names and 1 <= top["blockEntities"] <= 65536, "timestamp or blockEntities")
        self.schema, offset, raw = Schema(columns, key), 0, 0
        for member in [self.header, *self.blocks, self.tail]:
            need(member["offset"] == offset and 0 < member["rawLength"] <= 1032 * member["length"], "an offset or a length")
            need(HASH.fullmatch(member["sha256"]) and HASH.fullmatch(member["rawSha256"]), "a hash")
            offset, raw = offset + member["length"], raw + member["rawLength"]
        self.sizes = top["size"], top["rawSize"]
        need((offset, raw) == self.sizes and sum(block["count"] for block in self.blocks) == self.count, "a sum")
        need(self.header["rawLength"] <= 256 and self.tail["rawLength"] <= LARGEST_TAIL, "the length of header or tail")
        need(all(8 <= b["count"] * 8 <= b["rawLength"] <= LARGEST_BLOCK for b in self.blocks), "a block's count or length")
        self.first = [self.schema.written(block["firstKey"]) for block in self.blocks]
        need(ascending(self.first), "the order of first keys")

    @staticmethod
    def _text(top):
        """The one text that the index's values have."""
        def member(m, begin=""):
            return (f'{{{begin}"offset":{m["offset"]:d},"length":{m["length"]:d},"rawLength":{m["rawLength"]:d},'
                    f'"sha256":{quoted(m["sha256"])},"rawSha256":{quoted(m["rawSha256"])}}}')

        def column(c):
            typed = f',"type":{quoted(c["type"])},"optional":{"true" if c["optional"] is True else "false"}' if "type" in c else ""
            return f'{{"name":{quoted(c["name"])}{typed}' + (f',"collation":{quoted(c["collation"])}' if "collation" in c else "") + "}"

        names = quoted(top["key"]) if isinstance(top["key"], str) else "[" + ",".join(map(quoted, top["key"])) + "]"
        blocks = [member(b, f'"firstKey":{key_text(b["firstKey"])},"count":{b["count"]:d},') for b in top["blocks"]]
        return (f'{{"formatVersion":1,"dataset":{quoted(top["dataset"])},"key":{names},'
                + (f'"timestamp":{quoted(top["timestamp"])},' if "timestamp" in top else "")
                + '\n"columns":[\n' + ",\n".join(map(column, top["columns"])) + f'\n],\n"recordCount":{top["recordCount"]:d},"blockEntities":'
                f'{top["blockEntities"]:d},"size":{top["size"]:d},"rawSize":{top["rawSize"]:d},\n"header":{member(top["header"])},\n"blocks":['
                + ("\n" + ",\n".join(blocks) + "\n" if blocks else "") + f'],\n"tail":{member(top["tail"])}}}\n').encode()


class Tail:
    """What stands behind the entities: held entities, and keys whose entities must or must not exist. Raises ValueError."""

    def __init__(self, text, at, schema, newest, is_snapshot):
        self.schema, self.newest, self.is_snapshot = schema, instant(newest), is_snapshot
        self.held, self.deleted, self.wanted = {}, [], set()
        order = ["held", "deletions", "instants", "born", "columns"]
        while text[at] == ",":
            name = text[at + 2:text.index('"', at + 2)]
            need(name in order and text.startswith(f',"{name}":', at), "an unknown list, or lists in another order")
            order, at = order[order.index(name) + 1:], at + len(name) + 4
            if name == "held":
                at = self._held(text, at)
                continue
            value, at = VALUES.raw_decode(text, at)
            need(value, "an empty list")
            if name == "columns":
                need(list(value) == sorted(value, key=str.encode), "the order of columns")
                need(not is_snapshot or set(value) <= set(schema.columns), "a column of instants")
            for entries in value.values() if name == "columns" else [value]:
                self._entries(entries, name)
        need(text[at:] == "}\n" and not set(self.held) & set(self.deleted), "the end of the container, or a key twice")

    def _held(self, text, at):
        keys, sign = [], "["
        while text[at] != "]":
            need(text[at] == sign, "the list of held entities")
            row, at = self.schema.entity(text, at + 1)
            keys.append(self.schema.key_of(row))
            self.held[keys[-1]], sign = row, ","
        need(keys and ascending(keys), "the order of held entities")
        return at + 1

    def _entries(self, entries, name):
        keys, time = [], "deletedAt" if name == "deletions" else "at"
        for entry in entries:
            fields = list(entry)
            is_run = fields == ["from", "to", "at"] and self.is_snapshot and name != "deletions"
            need(is_run or fields == ["id", time] or (fields == ["id"] and name in ("born", "columns")), f"an entry of {name}")
            need(time not in entry or instant(entry[time]) <= self.newest, "an instant after the container's")
            ends = [self.schema.written(entry[field]) for field in (["from", "to"] if is_run else ["id"])]
            keys += ends
            if name != "deletions":
                self.wanted.update(end for end in ends if is_run or end not in self.held)
        need(ascending(keys), f"the order of {name}")
        self.deleted += keys if name == "deletions" else []

    def watch(self):
        """A function to call with each entity's key in order, and with None at the end. Raises ValueError for a list that does not fit."""
        wanted, unwanted = sorted(self.wanted)[::-1], set(self.deleted) | set(self.held)

        def see(key):
            need(key not in unwanted, "an entity that is also deleted or held")
            if wanted and (key is None or wanted[-1] <= key):
                need(wanted.pop() == key, "instants of an entity that is not in the file")
        return see


class Snapshot:
    """One snapshot asset. `opened(data, kind, path)` takes the encryption off, if the zone has any."""

    def __init__(self, origin, folder, asset, opened):
        self.origin, self.path, self.opened, self.asset = origin, f"{folder}/{asset['path']}", opened, asset
        path = self.path[:-len(".json.gz")] + ".index.json"
        with checked(self.path, "the commit names no block index"):
            stated = asset["index"]
        self.index = Index(opened(whole(origin, path, stated, LARGEST_INDEX), "index", path), path)
        self.schema = self.index.schema
        if self.index.sizes != (asset["size"], asset["rawSize"]):
            raise Damaged(path, "other sizes than the commit's")

    def _stream(self, offset):
        try:
            stream, size = self.origin.open(self.path, offset)
        except FileNotFoundError as error:
            raise Missing(self.path, "the file is missing") from error
        if size is not None and size != self.asset["size"]:
            stream.close()
            raise (Missing if size < self.asset["size"] else Damaged)(self.path, f"{size} bytes, where the commit states {self.asset['size']}")
        return stream

    def _member(self, stream, member, what, separator=0):
        data = b""
        while len(data) < member["length"]:
            part = stream.read(member["length"] - len(data))
            if not part:
                raise Missing(self.path, f"{what}: the file ends too early")
            data += part
        with checked(self.path, what):
            need(digest(data) == member["sha256"], "another SHA-256 than the index states")
            raw = inflate(self.opened(data, "member", self.path), member["rawLength"])
            need(digest(raw[separator:]) == member["rawSha256"], "another rawSha256 than the index states")
            return raw.decode()

    def tail(self):
        """Reads the header and the tail, and so the container's time."""
        with self._stream(0) as stream:
            header = self._member(stream, self.index.header, "header")
        with self._stream(self.index.tail["offset"]) as stream:
            text = self._member(stream, self.index.tail, "tail")
            if stream.read(1):
                raise Damaged(self.path, "more bytes than the commit states")
        with checked(self.path, "header or tail"):
            found = re.fullmatch(r'\{"syncTimestamp":"([^"]*)","' + self.index.dataset + r'":\[', header)
            need(found and text.startswith("\n]"), "not this dataset's header, or no end of its array")
            self.timestamp = found[1]
            return Tail(text, 2, self.schema, self.timestamp, True)

    def block(self, number, stream=None):
        """The rows of one block, as pairs of key and row. Checks everything in the block."""
        member, what, made, at = self.index.blocks[number], f"block {number}", [], 0
        if stream is None:
            with self._stream(member["offset"]) as own:
                return self.block(number, own)
        text = self._member(stream, member, what, 2 if number else 1)
        with checked(self.path, what):
            while at < len(text):
                separator = ",\n" if number or made else "\n"
                need(text.startswith(separator, at), "a separator is expected")
                row, at = self.schema.entity(text, at + len(separator))
                made.append((self.schema.key_of(row), row))
            keys = [key for key, _ in made] + self.index.first[number + 1:number + 2]
            need(len(made) == member["count"] and keys[0] == self.index.first[number], "another count or first key than the index states")
            need(ascending(keys), "the order of keys")
        return made

    def rows(self):
        """All rows, as pairs of key and row, in the order of keys. Memory: one block and the tail."""
        see = self.tail().watch()
        with checked(self.path, "tail"), self._stream(0) as stream:
            self._member(stream, self.index.header, "header")
            for number in range(len(self.index.blocks)):
                for key, row in self.block(number, stream):
                    see(key)
                    yield key, row
            see(None)

    def find(self, key):
        """The row with a key, or None. Reads one block at most."""
        number = bisect_right(self.index.first, key) - 1
        block = self.block(number) if number >= 0 else []
        at = bisect_left([one for one, _ in block], key)
        return block[at][1] if at < len(block) and block[at][0] == key else None


class Changes:
    """What a version's change assets change: for each key (row, None), (row, nulls) of a partial entity, or (None, held row or None)."""

    def __init__(self, snapshot, files, folder):
        self.by_key, self.timestamp, self.schema, before = {}, None, snapshot.schema, snapshot.asset["path"]
        for asset in files:
            self.path = f"{folder}/{asset['path']}"
            data = snapshot.opened(whole(snapshot.origin, self.path, asset, LARGEST_CHANGES + 65536), "member", self.path)
            with checked(self.path, "the change asset"):
                need(asset["rawSize"] <= min(LARGEST_CHANGES, 1032 * asset["size"]), "a stated raw size beyond the limit")
                after = re.sub(r"(\.changes)?\.json\.gz$", "", before.split("/")[-1])
                self._apply(inflate(data, asset["rawSize"]).decode(), after, snapshot.index.dataset)
            before = asset["path"]

    def _apply(self, text, after, dataset):
        head = re.match(r'\{"syncTimestamp":"([^"]*)","after":"([^"]*)","([^"]*)":\[', text)
        need(head and head[3] == dataset and head[2] == after, "another dataset's header, or it stands on another asset")
        self.timestamp, at, keys, made = head[1], head.end(), [], {}
        while not text.startswith("\n]", at):
            separator = ",\n" if keys else "\n"
            need(text.startswith(separator, at), "a separator is expected")
            at += len(separator)
            row, nulls, at = self._entity(text, at)
            keys.append(self.schema.key_of(row))
            made[keys[-1]] = row, nulls
        need(ascending(keys), "the order of keys")
        tail = Tail(text, at + 2, self.schema, self.timestamp, False)
        see = tail.watch()
        for key in [*keys, None]:
            see(key)
        made.update((key, (None, row)) for key, row in tail.held.items())
        made.update((key, (None, None)) for key in tail.deleted)
        for key, (row, nulls) in made.items():
            earlier = self.by_key.get(key)
            if earlier and row is not None and nulls is not None:
                need(earlier[0] is not None, "a partial entity without the entity that it changes")
                made_nulls = None if earlier[1] is None else (earlier[1] - set(row)) | nulls
                row, nulls = self.patched(earlier[0], (row, nulls)), made_nulls
            self.by_key[key] = row, nulls

    def _entity(self, text, at):
        """An entity with None, or a partial one with the names that became NULL, and the position behind it."""
        if text[at] == "{":
            row, at = self.schema.entity(text, at)
            return row, None, at
        row, at = self.schema.entity(text, at + 1, partial=True)
        nulls = set()
        while text[at] == ",":
            name, at = self.schema.string(text, at + 1)
            need(name not in nulls and name not in row and name not in self.schema.key_names + self.schema.required, f"NULL in {name}")
            nulls.add(name)
        need(text[at] == "]", "the end of a partial entity")
        return row, nulls, at + 1

    @staticmethod
    def patched(row, change):
        return {**{name: value for name, value in row.items() if name not in change[1]}, **change[0]}

    def over(self, rows, keys=None):
        """The rows of the version, from those of its snapshot: all, or those with the keys."""
        pending = sorted(self.by_key if keys is None else keys & self.by_key.keys())[::-1]
        for key, row in rows:
            while pending and pending[-1] < key:
                yield from self._new(pending.pop())
            change = self.by_key.get(key)
            if change:
                pending.pop()
            row = row if not change else self.patched(row, change) if change[0] is not None and change[1] is not None else change[0]
            if row is not None:
                yield key, row
        while pending:
            yield from self._new(pending.pop())

    def _new(self, key):
        row, nulls = self.by_key[key]
        if row is not None and nulls is not None:
            raise Damaged(self.path, "a partial entity without the entity that it changes")
        if row is not None:
            yield key, row
