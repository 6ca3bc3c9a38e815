"""A second writer of zones, written from docs/format.md, docs/cloud-directory.md and docs/readers.md alone: a writer, peer or reader in plain zones.

It reads with Sources/Readers, and merges by the rules of Tests/Model, which docs/internals/merge.md names as their exact form. It always reads and
writes whole datasets of untyped columns. Where the format leaves a choice, such as blocks, change assets or how instants are listed, it draws lots.
"""
import base64
import collections
import datetime
import gzip
import json
import os
import secrets
import sqlite3
import sys
import time
import uuid
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, *path) for path in (("..", "..", "Sources", "Readers", "python"), ("..", "Model"), ("..", "IndependentReader"))]

from devices import EMPTY, Commit, Device
from read_asset import cut_hash
from rules import Edit, Row, Table, Tombstone
from snapsync_reader import Zone
from snapsync_reader.assets import HEAD, Index, digest
from snapsync_reader.export import Description, json_row, name, names
from snapsync_reader.files import need
from snapsync_reader.history import unwrap
from snapsync_reader.rows import Column, Schema, instant, key_text, load, quoted, unbase64

EPOCH = instant("1970-01-01T00:00:00.000Z")
EARLIEST, MILLISECOND = -EPOCH, 1000


def micros(text):
    return instant(text) - EPOCH


def written(at):
    """An instant in microseconds since 1970, with three fraction digits, or six if three are not enough."""
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=at)
    return moment.isoformat(timespec="microseconds" if at % MILLISECOND else "milliseconds") + "Z"


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def checksummed(kind, body):
    data = canonical(body)
    return b'{"%s":%s,"sha256":"%s"}' % (kind.encode(), data, digest(data).encode())


def field(kind, value):
    return {"type": kind, "value": value}


class Dataset:
    """One table of a zone, from its description. Keys are values, or tuples if they have several columns."""

    def __init__(self, text):
        body = load(text.encode())
        self.text, self.own, self.own_body = text, Description(text), body["dataset"]
        self.name, self.record, self.key, columns = self.own.name, self.own.record, self.own.key, self.own_body["columns"]
        self.type, self.stamp = self.own_body.get("recordType", self.name[0].upper() + self.name[1:] + "Data"), self.own_body.get("timestamp")
        need(not any("type" in c or c.get("column", c["name"]) != c["name"] for c in columns), "typed or renamed columns are not supported")
        self.schema = Schema([Column(c["name"], collation=c.get("collation")) for c in columns], self.key)
        values, declared = tuple(self.schema.names), {c["column"]: c["declared"] for c in self.own.structure}      # a column of the key has instants as well
        unique, together = [tuple(u["columns"]) for u in self.own.unique], self.own_body.get("together", [])
        references = [(r["columns"], r["parent"]) for r in self.own.references]
        groups = [values] if together == "row" else together + [u for u in unique if len(u) > 1] + [r for r, _ in references if len(r) > 1]
        messages, editable = self.own_body.get("messages", {}), None
        if not messages.get("rows"):
            editable = (*messages.get("patch", ()), *self.key, *(["delete"] if messages.get("delete") else ()))
            editable += (self.stamp,) if messages.get("patch") and self.stamp else ()
        self.table = Table(values, tuple(unique), tuple((c[0], parent) for c, parent in references if len(c) == 1), tuple(map(set, groups)),
                           "isOrphan" if declared.get("isOrphan") == "boolean" else None, editable)

    def split(self, row):
        """A row's key, and the row with every column."""
        key = tuple(row[n] for n in self.key)
        return key if len(key) > 1 else key[0], {c: row.get(c) for c in self.table.columns}

    def encoded(self, key):
        return self.schema.encode(key if isinstance(key, tuple) else [key])

    def key_of(self, form):
        """A key from its form outside entities."""
        self.schema.written(form)
        values = tuple(unbase64(v["base64"]) if isinstance(v, dict) else v for v in (form if isinstance(form, list) else [form]))
        return values if len(values) > 1 else values[0]

    def form(self, key):
        """A key as it is outside entities."""
        values = list(key) if isinstance(key, tuple) else [key]
        for n, (column, value) in enumerate(zip(self.schema.key_columns, values)):
            if isinstance(value, bytes):
                values[n] = {"base64": base64.b64encode(value).decode()}
            elif isinstance(value, str):
                values[n] = column.fold(value).decode()
            elif value == value // 1 and -(1 << 63) <= value < 1 << 63:
                values[n] = int(value)
        return values[0] if len(values) == 1 and isinstance(values[0], (int, str)) else values

    def row(self, values):
        """The columns that are not NULL, in order."""
        return {n: values[n] for n in self.schema.names if values.get(n) is not None}

    def timestamp(self, values, limit):
        """A row's own timestamp, not after the container's."""
        try:
            return min(micros(values[self.stamp]), limit)
        except (KeyError, ValueError, TypeError):
            return EARLIEST

    # Reading

    def read(self, table, folder):
        """The entries of a version under their keys, each with its instants. The reader has checked the files."""
        row = lambda values, held=False: Row(values, {}, 0, held)
        entries = {key: row(values) for key, values in map(self.split, table.rows())}
        entries |= {key: row(values, True) for key, values in map(self.split, table.held())}
        deleted, times, limits = {}, collections.defaultdict(dict), {}
        for asset in [table.data, *table.files]:
            with open(os.path.join(folder, asset["path"]), "rb") as file:
                tail = json.loads(gzip.decompress(file.read()))
            keys = [e[0] if isinstance(e, list) else e for e in tail[self.name] + tail.get("held", [])]
            keys = [self.split({n: unbase64(e[n]["base64"]) if isinstance(e[n], dict) else e[n] for n in self.key})[0] for e in keys]
            deletions = {self.key_of(e["id"]): micros(e["deletedAt"]) for e in tail.get("deletions", [])}
            for key in (*keys, *deletions):
                times.pop(key, None)
                deleted.pop(key, None)
                limits[key] = micros(tail["syncTimestamp"])
            deleted |= deletions
            lists = {"": tail.get("instants", []), 0: tail.get("born", []), **{(c,): found for c, found in tail.get("columns", {}).items()}}
            for kind, found in lists.items():
                for e in found:
                    low, high = (self.encoded(self.key_of(e[end if end in e else "id"])) for end in ("from", "to"))
                    for key in keys if "from" in e else [self.key_of(e["id"])]:
                        if low <= self.encoded(key) <= high:
                            times[key][kind] = micros(e["at"]) if "at" in e else None
        for key, entry in entries.items():
            stamp, found = self.timestamp(entry.values, limits[key]), times.get(key, {})
            found = {kind: stamp if at is None else at for kind, at in found.items()}
            rest = found.get("", stamp)
            entries[key] = entry._replace(instants={c: found.get((c,), rest) for c in entry.values}, born=found.get(0, rest))
        return entries | {key: Tombstone(at) for key, at in deleted.items()}

    # Writing

    def tail(self, entries, sync, lots, partial=()):
        """What follows the array, for entries in key order."""
        held, deleted, instants, born, columns = [], [], [], [], collections.defaultdict(list)
        for key, entry in entries:
            id = f'{{"id":{key_text(self.form(key))}'
            if isinstance(entry, Tombstone):
                deleted.append(f'{id},"deletedAt":"{written(entry.at)}"}}')
                continue
            stamp, rest = self.timestamp(entry.values, sync), lots.choice(sorted(entry.instants.values()))
            short = lambda at: id + ("}" if at == stamp and self.stamp and key not in partial else f',"at":"{written(at)}"}}')
            held += [json_row(self.row(entry.values))] if entry.held else []
            instants += [f'{id},"at":"{written(rest)}"}}'] if rest != stamp else []
            born += [short(entry.born)] if entry.born != rest else []
            for column, at in entry.instants.items():
                if at != rest:
                    columns[column].append(short(at))
        lists = [f',"{n}":[{",".join(found)}]' for n, found in (("held", held), ("deletions", deleted), ("instants", instants), ("born", born)) if found]
        named = [f"{quoted(c)}:[{','.join(columns[c])}]" for c in sorted(columns, key=str.encode)]
        return "\n]" + "".join(lists) + (f',"columns":{{{",".join(named)}}}' if named else "") + "}\n"

    def snapshot(self, entries, sync, lots):
        """A snapshot asset and its index."""
        shown = [(key, e) for key, e in entries if isinstance(e, Row) and not e.held]
        texts = [json_row(self.row(e.values)) for key, e in shown]
        sample = [len(text.encode()) for text in texts[:256]]
        limit = lots.choice([max(1, min(65536, 131072 // (max(1, sum(sample) // len(sample)) if sample else 1024))), 1, 2, 5])
        blocks, asset, raw_size = [], b"", 0
        for (key, _), text in zip(shown, texts):
            if not blocks or cut_hash(self.form(key)) * limit < 1 << 64 or size >= 1 << 20:
                blocks, size = [*blocks, []], -2
            blocks[-1].append((key, text))
            size += len(text.encode()) + 2

        def member(text, separator=0):
            nonlocal asset, raw_size
            raw, offset = text.encode(), len(asset)
            data = compressed(raw, lots)
            asset, raw_size = asset + data, raw_size + len(raw)
            return {"offset": offset, "length": len(data), "rawLength": len(raw), "sha256": digest(data), "rawSha256": digest(raw[separator:])}

        header, made = member(f'{{"syncTimestamp":"{written(sync)}","{self.name}":['), []
        for n, block in enumerate(blocks):
            found = member((",\n" if n else "\n") + ",\n".join(text for _, text in block), 2 if n else 1)
            made.append({**found, "firstKey": self.form(block[0][0]), "count": len(block)})
        tail, columns = member(self.tail(entries, sync, lots)), self.own_body["columns"]
        index = {"dataset": self.name, "key": self.key if len(self.key) > 1 else self.key[0], "columns": columns, "recordCount": len(shown),
                 "blockEntities": limit, "size": len(asset), "rawSize": raw_size, "header": header, "blocks": made, "tail": tail}
        return asset, Index._text({**index, **({"timestamp": self.stamp} if self.stamp else {})}), raw_size

    def changes(self, before, after, name, sync, lots):
        """A change asset from one version to the next. `name`: that of the asset with which the version before ends."""
        changed, partial, array = [(key, e) for key, e in after if before.get(key) != e], set(), []
        for key, entry in changed:
            old = before.get(key)
            if isinstance(entry, Row) and not entry.held:
                text = json_row(self.row(entry.values))
                if isinstance(old, Row) and not old.held and lots.random() < 0.7:
                    partial.add(key)
                    new = {c: v for c, v in entry.values.items() if v != old.values[c] or c in self.key}
                    nulls = [quoted(c) for c, v in new.items() if v is None]
                    text = "[" + ",".join([json_row(self.row(new)), *nulls]) + "]"
                array.append("\n" + text)
        text = f'{{"syncTimestamp":"{written(sync)}","after":"{name}","{self.name}":[' + ",".join(array) + self.tail(changed, sync, lots, partial)
        return compressed(text.encode(), lots), len(text.encode())


def compressed(raw, lots):
    stream = zlib.compressobj(lots.choice([1, 6, 9]), zlib.DEFLATED, -15)
    return HEAD + stream.compress(raw) + stream.flush() + zlib.crc32(raw).to_bytes(4, "little") + (len(raw) % 2**32).to_bytes(4, "little")


class Files:
    """A zone's folder. Files get a name only when they are whole and on the disk."""

    def __init__(self, root, zone="private/main"):
        self.root, self.zone, self.folder = root, zone, os.path.join(root, zone)

    def put(self, path, data):
        """Puts a file in place if its name is free, or has these bytes. False: another file has the name."""
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        partial = os.path.join(os.path.dirname(path), f".snapsync-{secrets.token_hex(16)}.tmp")
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(partial, path)
            return True
        except FileExistsError:
            with open(path, "rb") as file:
                return file.read() == data
        finally:
            os.unlink(partial)
            folder = os.open(os.path.dirname(path), os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)

    def create(self, creator, publishers):
        marker = {"container": "iCloud.org.example", "formatVersion": 1, "uuid": str(uuid.uuid4())}
        need(self.put("cloud.json", canonical(marker)), "another cloud is here")
        for folder in ("commits", "checkpoints", "assets", "messages", "devices"):
            os.makedirs(os.path.join(self.folder, folder), 0o700)
        marker = {"creator": creator, "features": [], "formatVersion": 1, "publishers": publishers}
        need(self.put(f"{self.zone}/zone.json", canonical(marker)), "another zone is here")

    def list(self, folder):
        path = os.path.join(self.folder, folder)
        return sorted(n for n in os.listdir(path) if not n.startswith(".")) if os.path.isdir(path) else []

    def checkpoint(self, history, number):
        """The bytes of the checkpoint at a commit, from all commits up to it."""
        records = {}
        for one in range(1, number + 1):
            body, _, _, hash = history.commit(one)
            saved = {"at": body["timestamp"], "by": body["device"]}
            for record in body["saved"]:
                created = records.get(record["name"], {"created": saved})["created"]
                records[record["name"]] = {**record, "changeTag": str(one), "created": created, "modified": saved}
            for gone in body["deleted"]:
                records.pop(gone, None)
        state = {"commit": hash, "number": number, "timestamp": body["timestamp"], "cloud": history.cloud, "zone": self.zone}
        state["records"] = [records[n] for n in sorted(records, key=str.encode)]
        return checksummed("checkpoint", {**state, **({"answered": body["answered"]} if body.get("answered") else {})})


class Participant(Device):
    """A device with a database and a zone. `datasets` is what it publishes if it creates the zone."""

    def __init__(self, device, location, role, lots, datasets=(), offset=0):
        self.files, self.role, self.lots, self.offset = Files(location), role, lots, offset
        self.datasets, self.database, self.cloud_state = {d.name: d for d in datasets}, None, None
        super().__init__(device, {d.name: d.table for d in datasets}, role != "reader")
        if datasets:
            self.files.create(device, "many" if role == "peer" else "one")
            self.open_database()

    def open_database(self):
        self.database = sqlite3.connect(":memory:", isolation_level=None)
        for dataset in self.datasets.values():
            self.database.execute(dataset.own.create({d.name: d.own.table for d in self.datasets.values()}, True))
        self.database.execute("PRAGMA foreign_keys = ON")

    def clock(self):
        return time.time_ns() // 1000 + self.offset

    # The application

    def edit(self, sql, parameters):
        """Runs a statement, and notes which rows it changed."""
        before = self.rows()
        self.database.execute(sql, parameters)
        after, clock = self.rows(), self.clock() // MILLISECOND * MILLISECOND
        for key in sorted((k for k in {**before, **after} if before.get(k) != after.get(k)), key=lambda k: (k in after, repr(k))):
            dataset, row, stamp = self.datasets[key[0]], after.get(key), None
            if row and dataset.stamp and row[dataset.stamp] != before.get(key, {}).get(dataset.stamp):
                stamp = dataset.timestamp(row, clock)
            self.write(key, row, clock, None if stamp == EARLIEST else stamp)

    def rows(self):
        """The application's tables."""
        found = {}
        for dataset in self.datasets.values():
            for row in self.database.execute(f"SELECT {names(dataset.schema.names)} FROM {name(dataset.own.table)}"):
                key, values = dataset.split(dict(zip(dataset.schema.names, row)))
                found[dataset.name, key] = values
        return found

    def fill(self):
        """Puts the device's rows into the tables, in one transaction."""
        wanted = self.table
        if self.rows() == wanted:
            return
        self.database.execute("PRAGMA foreign_keys = OFF")
        self.database.execute("BEGIN")
        for dataset in self.datasets.values():
            self.database.execute(f"DELETE FROM {name(dataset.own.table)}")
        for (table, key), values in wanted.items():
            row = self.datasets[table].row(values)
            self.database.execute(f"INSERT INTO {name(self.datasets[table].own.table)}({names(row)}) VALUES({', '.join('?' * len(row))})", list(row.values()))
        self.database.execute("COMMIT")
        self.database.execute("PRAGMA foreign_keys = ON")
        need(self.rows() == wanted, "SQLite changes a value")
        self.dangling = self.database.execute("PRAGMA foreign_key_check").fetchall()

    # Syncing

    def take(self, published=None):
        """Imports the newest version, if there is one that this device does not have. `published`: the commit that this device has put in place."""
        zone = Zone(self.files.root)
        numbers = zone.history.list()
        if not numbers or numbers[-1] == self.version:
            return
        version, self.cloud_state = zone.version(), zone._newest
        tables = {t.name: t for t in map(version.table, version.tables())}
        described = {n: self.cloud_state.records["table." + n]["fields"]["description"]["value"] for n in tables}
        if {n: d.text for n, d in self.datasets.items()} != described:
            is_new = not self.datasets
            self.datasets = {n: Dataset(text) for n, text in described.items()}
            self.schema = {n: d.table for n, d in self.datasets.items()}
            self.open_database() if is_new else None
        rows = {(n, key): e for n, table in tables.items() for key, e in self.datasets[n].read(table, self.files.folder).items()}
        commit = Commit(zone.history.commit(version.number)[0]["device"], rows, self.cloud_state.answered)
        if published and version.number == self.intent[0]:
            need(commit[1:3] == published[1:3], f"the version that was read back is not the one that was written: {difference(commit, published)}")
            commit = published
        self.take_in({**({self.intent[0] - 1: published} if self.intent else {}), version.number - 1: commit}, version.number)
        self.fill()

    def sync(self, before_commit=lambda: None):
        """Imports, and publishes or sends a message. `before_commit` runs when a commit is about to be put in place."""
        self.take()
        while self.publishes and not self.publish_version(before_commit):
            self.take()
        if not self.publishes:
            self.send()
        self.report()

    def publish_version(self, before_commit):
        """Publishes the device's edits and those of readers. False: another device has published the number, so import and try again."""
        prepared = self.prepare(self.mail(), self.clock()) or (None if self.version else (EMPTY, set()))
        if not prepared:
            return True
        (commit, lost), number, clock, state = prepared, self.version + 1, self.clock(), self.cloud_state
        self.intent = (number, commit, lost)
        saved, made, history = {}, [], Zone(self.files.root).history
        for dataset in self.datasets.values():
            old = state.records.get(dataset.record, {}).get("fields") if state else None
            before, rows = ({k[1]: e for k, e in rows.items() if k[0] == dataset.name} for rows in (self.head.rows, commit.rows))
            if not old or before != rows:
                fields, files = self.made(dataset, old, before, rows, number, clock)
                saved[dataset.record], made = {"name": dataset.record, "type": dataset.type, "fields": fields}, made + files
            if not old:
                described = "table." + dataset.name
                saved[described] = {"name": described, "type": "SnapshotPin", "fields": {"description": field("string", dataset.text)}}
        body = {"approvals": [], "clock": written(clock), "cloud": history.cloud, "deleted": [], "device": self.name, "nonce": secrets.token_hex(8),
                "number": number, "saved": [saved[n] for n in sorted(saved, key=str.encode)], "zone": self.files.zone,
                "timestamp": written(max(clock, state.time - EPOCH + MILLISECOND) if state else clock)}
        body |= {"answered": commit.answered} if commit.answered else {}
        if state:
            named = history.commit(state.number)[0].get("checkpoint")
            if state.number - (named["number"] if named else 0) >= 16:
                data = self.files.checkpoint(history, state.number)
                need(self.files.put(f"{self.files.zone}/checkpoints/{state.number:020}.json", data), "another checkpoint is in place")
                named = {"number": state.number, "sha256": digest(data)}
            body |= {"parent": state.hash, **({"checkpoint": named} if named else {})}
        for path, data in made:
            need(self.files.put(f"{self.files.zone}/{path}", data), "an asset's name is taken")
        before_commit()
        if not self.files.put(f"{self.files.zone}/commits/{number:020}.json", checksummed("commit", body)):
            for path, _ in made:
                os.unlink(os.path.join(self.files.folder, path))
            return False
        self.take(commit)
        return True

    def made(self, dataset, old, before, rows, number, clock):
        """The fields of a dataset's record in the next version, and the files that they name. `old`: the fields of the version before."""
        entries, lots = sorted(rows.items(), key=lambda e: dataset.encoded(e[0])), self.lots
        tracked = [at for e in rows.values() for at in ([e.at] if isinstance(e, Tombstone) else [*e.instants.values(), e.born])]
        sync = max([clock, *tracked, *([micros(old["syncTimestamp"]["value"]) + MILLISECOND] if old else [])])
        base, files, change = f"assets/{dataset.record}/{number:020}-{secrets.token_hex(4)}", [], None
        kind = lots.choice(["snapshot", "both", "changes", "changes"])
        earlier = old.get("changeFiles", field("list", []))["value"] if old else []
        if old and kind != "snapshot":
            last = [old["dataFile"], *earlier][-1]["value"]["path"].split("/")[-1].removesuffix(".json.gz").removesuffix(".changes")
            data, raw_size = dataset.changes(before, entries, last, sync, lots)
            files = [(base + ".changes.json.gz", data)]
            change = field("asset", {"path": base + ".changes.json.gz", "size": len(data), "rawSize": raw_size, "sha256": digest(data)})
        if change and kind == "changes":
            fields = {"dataFile": old["dataFile"], "changeFiles": field("list", [*earlier, change])}
        else:
            asset, index, raw_size = dataset.snapshot(entries, sync, lots)
            files += [(base + ".index.json", index), (base + ".json.gz", asset)]
            stated = {"path": base + ".json.gz", "size": len(asset), "rawSize": raw_size, "sha256": digest(asset)}
            fields = {"dataFile": field("asset", {**stated, "index": {"size": len(index), "sha256": digest(index)}})}
            fields |= {"changeFile": change} if change else {}
        count = sum(isinstance(e, Row) and not e.held for e in rows.values())
        return {**fields, "recordCount": field("integer", count), "syncTimestamp": field("date", written(sync))}, files

    def report(self, nonce=None):
        """States the version that this device has. Earlier reports are removed."""
        folder, state = f"devices/{self.name}", self.cloud_state
        before = self.files.list(folder)
        body = {"clock": written(self.clock()), "device": self.name, "role": self.role, "nonce": nonce or str(uuid.uuid4())}
        body |= {"token": {"hash": state.hash, "number": state.number}} if state else {}
        number = int(before[-1][:20]) + 1 if before else 1
        self.files.put(f"{self.files.zone}/{folder}/{number:020}.json", checksummed("report", body))
        for old in before:
            os.unlink(os.path.join(self.files.folder, folder, old))

    # Messages

    def mail(self):
        """The edits that readers have sent, by their numbers. The first of two with one number counts."""
        found = {}
        for sender in self.files.list("messages"):
            for file in self.files.list(f"messages/{sender}"):
                try:
                    with open(os.path.join(self.files.folder, "messages", sender, file), "rb") as stream:
                        body = unwrap(stream.read(), "message", False)[0]
                except FileNotFoundError:       # its sender has removed it
                    continue
                need((body["sender"], body["id"], body["zone"]) == (sender, file.removesuffix(".json"), self.files.zone), "a message of another place")
                need(body["body"]["device"] == sender and body["body"]["format"] == 1, "a message of another form")
                found.setdefault(sender, {}).update((e["number"], self.received(e)) for e in body["body"]["edits"])
        return {sender: sorted(edits.items()) for sender, edits in found.items()}

    def received(self, edit):
        dataset = self.datasets[edit["dataset"]]
        key = (dataset.name, dataset.key_of(edit["id"]))
        at, base, there, values = micros(edit["at"]), edit.get("base"), self.head.rows.get(key), None
        if base:
            base = micros(base["deletedAt"]) if "deletedAt" in base else {
                **dict.fromkeys(dataset.table.columns, micros(base["at"])), **{c["name"]: micros(c["at"]) for c in base.get("columns", [])}}
        changed = {c["name"]: micros(c["at"]) for c in edit.get("columns", [])} or dict.fromkeys(dataset.table.columns, at)
        if "row" in edit:
            row, _ = dataset.schema.entity(edit["row"], 0)
            own, values = dataset.split(row)
            need(own == key[1], "the row's key is not the edit's")
            if edit.get("part"):
                values = {c: row.get(c) if c in dataset.table.editable else there.values[c] if isinstance(there, Row) else None for c in values}
        return Edit(key, base, changed if values else {None: at}, values, micros(edit["born"]), edit.get("held", False), edit.get("loose", False))

    def send(self):
        """Sends all undecided edits in one message, and removes the earlier ones."""
        edits, folder = self.hand_over(self.clock()), f"messages/{self.name}"
        before, sent = self.files.list(folder), [self.sent(number, edit) for number, edit in edits]
        known = [canonical(e) for e in sent] == getattr(self, "last_sent", [])
        self.last_sent = [canonical(e) for e in sent]
        if sent and not (known and before):
            id = f"{self.clock():016x}{secrets.token_hex(8)}"
            self.report()
            body = {"body": {"device": self.name, "edits": sent, "format": 1, "id": id}, "id": id, "sender": self.name,
                    "cloud": Zone(self.files.root).history.cloud, "zone": self.files.zone}
            need(self.files.put(f"{self.files.zone}/{folder}/{id}.json", checksummed("message", body)), "a message's name is taken")
        for old in before if not (known and sent) else []:
            os.unlink(os.path.join(self.files.folder, folder, old))

    def sent(self, number, edit):
        dataset, listed = self.datasets[edit.key[0]], lambda times, at: [{"at": written(t), "name": c} for c, t in sorted(times.items()) if t != at]
        body = {"number": number, "dataset": dataset.name, "id": dataset.form(edit.key[1]), "at": written(edit.at), "born": written(edit.born)}
        if isinstance(edit.base, dict):
            columns = listed(edit.base, max(edit.base.values()))
            body["base"] = {"at": written(max(edit.base.values())), **({"columns": columns} if columns else {})}
        elif edit.base is not None:
            body["base"] = {"deletedAt": written(edit.base)}
        if edit.values:
            editable, values = dataset.table.editable, edit.values
            if editable is not None and not set(values) <= set(editable):
                body["part"], values = True, {c: v for c, v in values.items() if c in editable}
            body["row"] = json_row(dataset.row(values))
            if set(edit.changed) != set(edit.values) or set(edit.changed.values()) != {edit.at}:
                body["columns"] = listed(edit.changed, None)
        return {**body, **({"held": True} if edit.held else {}), **({"loose": True} if edit.loose else {})}


def difference(found, wanted):
    rows = [(k, found.rows.get(k), wanted.rows.get(k)) for k in {**found.rows, **wanted.rows} if found.rows.get(k) != wanted.rows.get(k)]
    return rows or (found.answered, wanted.answered)
