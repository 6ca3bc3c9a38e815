"""The package's interface: a zone, its versions, and the tables of each version."""
from .assets import Changes, Snapshot
from .export import Description, write_csv, write_sqlite
from .files import Damaged, Ended, Locked, ZoneError, checked, need, source
from .history import KEPT, History, check_record, ed25519
from .rows import instant, load, unbase64
from .sealed import Secrets, padded, private_key


class Zone:
    """A zone in a cloud directory.

        for row in Zone("/mnt/share/app").version().rows("songs"): print(row)

    `location` is the path or the http(s) address of a cloud directory or of a zone in it, or an object with the methods of `Folder`.
    `trust` is the fingerprint of a signed zone's creator. An encrypted zone needs `key`, the text of a member's key file or the
    recovery code, and `passphrase` if the key file is locked.
    """

    def __init__(self, location, zone="private/main", trust=None, key=None, passphrase=None):
        parts = [] if hasattr(location, "open") and hasattr(location, "list") else str(location).rstrip("/").split("/")
        if len(parts) > 2 and parts[-2] in ("private", "public"):
            location, zone = "/".join(parts[:-2]) or "/", "/".join(parts[-2:])
        zone = zone if "/" in zone else f"private/{zone}"
        self.origin, self.path = source(location), zone
        self.history, self.secrets, self._newest_state, self._unlocked = History(self.origin, zone, trust), None, None, set()
        if "sealed" in self.history.features:
            if key is None:
                raise Locked(zone, "the zone is encrypted: a key file or the recovery code is needed")
            with checked("", "the key file", Locked):
                self.secrets = Secrets(self.history, private_key(key, passphrase))

    @property
    def _newest(self):
        self._newest_state = self._newest_state or self.history.newest()
        return self._newest_state

    @property
    def signatures(self):
        """None in a zone without signatures, otherwise "verified" or "not verified"."""
        return None if not self.history.signed else "verified" if ed25519() else "not verified"

    @property
    def creator(self):
        """The fingerprint of the device that made a signed zone. Compare it with the one that you know."""
        return self._newest.members.creator if self.history.signed else None

    def versions(self):
        """The versions that can be read, oldest first: dictionaries of number, timestamp, device and pin (a name, True or None)."""
        newest, made, parent = self._newest.number, {}, self._newest.hash
        pins = {fields["version"]["value"]: fields for fields in self._pins()}
        names = {number: fields.get("name", {}).get("value", True) for number, fields in pins.items()}
        while newest in self.history.list():
            body, _, _, own_hash = self.history.commit(newest)
            if own_hash != parent:
                raise Damaged(self.history.path("commits", newest), "it is not the parent of the next commit")
            if "zoneEvent" not in body:
                made[newest] = body["timestamp"], body["device"]
            parent, newest = body.get("parent"), newest - 1
        made = {**{number: (fields["timestamp"]["value"], None) for number, fields in pins.items()}, **made}
        return [{"number": n, "timestamp": made[n][0], "device": made[n][1], "pin": names.get(n)} for n in sorted(made)]

    def _pins(self):
        records = [record for name, record in self._newest.records.items() if record["type"] == "SnapshotPin" and name.startswith("pin_")]
        return [self.fields(record, self._newest) for record in records]

    def version(self, number=None):
        """A version, by default the newest."""
        state = self._newest if number is None else None
        for fields in self._pins() if number is not None and number not in self.history.list() else []:
            if fields["version"]["value"] == number:
                state = self.history.checkpoint(number, fields["checkpoint"]["value"])
        state = state or self.history.at(number)
        if state.event:
            raise Ended(self.path, f"the zone continues as {state.next}")
        return Version(self, state)

    def fields(self, record, state):
        """A record's own fields, decrypted if the zone is encrypted."""
        if not self.secrets or record["name"] in KEPT:
            return record["fields"]
        if state.number not in self._unlocked:
            if not any(self.secrets.take(record) for record in self._key_records(state)):
                raise Locked(self.path, "the zone's keys were not given to this key")
            self._unlocked.add(state.number)
        where = f"{self.path}: record {record['name']}"
        with checked(where, "the record"):
            need("sealed" in record["fields"] and set(record["fields"]) <= {"assets", "sealed"}, "it is not encrypted")
            fields = load(self.secrets.open(unbase64(record["fields"]["sealed"]["value"]), "record", record["name"], where))
            check_record(dict(record, fields=fields), record["number"])
            values = [one for field in fields.values() for one in (field["value"] if field["type"] == "list" else [field])]
            assets = {one["value"]["path"]: dict(one["value"]) for one in values if one["type"] == "asset"}
            for asset in assets.values() if self.secrets.padded else []:
                asset["rawSize"] = padded(asset["rawSize"])
            outside = [one["value"] for one in record["fields"].get("assets", {"value": []})["value"]]
            need(outside == [assets[path] for path in sorted(assets)], "its assets are not those inside")
        return fields

    def _key_records(self, state):
        """The records that may have the keys: those of the version, of the newest one, and for a removed member those before its removal."""
        yield state.records["snapshot_keys"]
        yield self._newest.records["snapshot_keys"]
        for number in reversed(self.history.list()):
            yield from (record for record in self.history.commit(number)[0]["saved"] if record["name"] == "snapshot_keys")


class Version:
    """One version of a zone. Rows are dictionaries of int, float, str, bytes and None. Text that is not UTF-8 is a RawText."""

    def __init__(self, zone, state):
        self.zone, self.number, self._tables = zone, state.number, {}
        fields = {name: zone.fields(record, state) for name, record in state.records.items()}
        described = Description.all({name: own for name, own in fields.items() if state.records[name]["type"] == "SnapshotPin"}, zone.path)
        for name in sorted(fields, key=str.encode):
            if "dataFile" in fields[name]:
                table = Table(self, name, fields[name], described.get(name))
                self._tables[table.name] = table

    def tables(self):
        """The names of the datasets."""
        return list(self._tables)

    def table(self, name):
        """A dataset by its name, or by its table's name."""
        for table in [t for t in self._tables.values() if t.name == name] + [t for t in self._tables.values() if t.own == name]:
            return table
        raise ZoneError("", f"version {self.number} has no table {name}")

    def rows(self, table):
        """Iterates over the rows in the order of their keys. If this ends without an error, every byte was checked."""
        return self.table(table).rows()

    def held(self, table):
        """The rows that the version has but that no device shows in its table, because they break a constraint."""
        return self.table(table).held()

    def row(self, table, key):
        """The row with a key (a tuple if it has several columns), or None. Reads the index, the changes and one block."""
        return self.table(table).row(key)

    def write_sqlite(self, path, typed=True):
        """Makes a new database with all tables. With `typed=False` columns get no declared type, so that any value stays as it is."""
        write_sqlite(self, path, typed)

    def write_csv(self, table, file):
        """Writes a table as CSV to a text file."""
        write_csv(self.table(table), file)


class Table:
    """One dataset of a version."""

    def __init__(self, version, record, fields, description):
        self.version, self.record, self.description, self.zone = version, record, description, version.zone
        self.where, self._snapshot, self._changes = f"{self.zone.path}: record {record}", None, None
        with checked(self.where, "the record"):
            self.data, self.count, self.timestamp = (fields[name]["value"] for name in ("dataFile", "recordCount", "syncTimestamp"))
            self.files = [one["value"] for one in fields.get("changeFiles", {"value": []})["value"]]
            numbers = [int(asset["path"].split("/")[-1][:20]) for asset in [self.data, *self.files]]
            need(0 <= self.count <= 1 << 48 and instant(self.timestamp) and sorted(set(numbers)) == numbers, "the count, or the order of its assets")
            changes = [asset["path"].endswith(".changes.json.gz") for asset in [self.data, *self.files]]
            need(changes == [False] + [True] * len(self.files), "its assets")
        self.name = description.name if description else self.snapshot.index.dataset
        self.own = description.table if description else self.name

    def _opened(self, data, kind, path):
        return self.zone.secrets.open(data, kind, self.record, path) if self.zone.secrets else data

    @property
    def snapshot(self):
        if not self._snapshot:
            made = Snapshot(self.zone.origin, self.zone.path, self.data, self._opened)
            with checked(made.index.path, "not the index that the record needs"):
                need(self.files or made.index.count == self.count, "another number of entities")
                need(not self.description or self.description.fits(made.index), "another dataset, key or types than in the description")
            self._snapshot = made
        return self._snapshot

    @property
    def columns(self):
        """The columns' names, in order."""
        return list(self.snapshot.schema.names)

    @property
    def key(self):
        return list(self.snapshot.schema.key_names)

    def changes(self):
        if not self._changes:
            made = Changes(self.snapshot, self.files, self.zone.path)
            if self.files and made.timestamp != self.timestamp:
                raise Damaged(made.path, "another syncTimestamp than the record's")
            self._changes = made
        return self._changes

    def rows(self):
        snapshot, count = self.snapshot, 0
        for _, row in self.changes().over(snapshot.rows()):
            count += 1
            yield snapshot.schema.finished(row)
        if count != self.count or (not self.files and snapshot.timestamp != self.timestamp):
            raise Damaged(self.where, f"{count} rows of {snapshot.timestamp}, where it states {self.count} of {self.timestamp}")

    def held(self):
        changes = self.changes().by_key
        held = {key: row for key, row in self.snapshot.tail().held.items() if key not in changes}
        held.update((key, change[1]) for key, change in changes.items() if change[0] is None and change[1] is not None)
        return [self.snapshot.schema.finished(held[key]) for key in sorted(held)]

    def row(self, key):
        values = list(key) if isinstance(key, (tuple, list)) else [key]
        need(len(values) == len(self.key), f"the key has the columns {self.key}")
        encoded, changes = self.snapshot.schema.encode(values), self.changes()
        row = self.snapshot.find(encoded)
        made = list(changes.over([] if row is None else [(encoded, row)], {encoded}))
        return self.snapshot.schema.finished(made[0][1]) if made else None
