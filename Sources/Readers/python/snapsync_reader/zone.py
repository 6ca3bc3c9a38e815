"""The package's interface: a zone, its versions, and the tables of each version."""
from .assets import Changes, Snapshot
from .description import descriptions
from .errors import Damaged, Locked, ZoneError
from .export import write_csv, write_sqlite
from .history import History
from .sealed import Secrets, padded, private_key
from .signatures import available
from .source import source
from .strict import instant, load, unbase64


class Zone:
    """A zone in a cloud directory.

        zone = Zone("/mnt/share/app")
        for row in zone.version().rows("songs"): print(row)

    `location` is the path or the http(s) address of a cloud directory or of a zone in it, or an object with the methods of `Folder`.
    `trust` is the fingerprint of a signed zone's creator. An encrypted zone needs `key`, the text of a member's key file or the
    recovery code, and `passphrase` if the key file is locked.
    """

    def __init__(self, location, zone="private/ZentikSyncZone", trust=None, key=None, passphrase=None):
        origin = source(location)
        try:
            origin.open("cloud.json")[0].close()
        except FileNotFoundError:
            if isinstance(location, str) or not hasattr(location, "open"):
                parts = str(location).rstrip("/").split("/")
                if len(parts) > 2 and parts[-2] in ("private", "public"):
                    origin, zone = source("/".join(parts[:-2]) or "/"), "/".join(parts[-2:])
        self.origin, self.path = origin, zone
        self.history = History(origin, zone, trust)
        self.secrets = None
        if "sealed" in self.history.features:
            if key is None:
                raise Locked(zone, "the zone is encrypted: a key file or the recovery code is needed")
            self.secrets = Secrets(self.history, private_key(key, passphrase))
        self._state, self._opened = None, set()

    @property
    def _newest(self):
        self._state = self._state or self.history.newest()
        return self._state

    @property
    def signatures(self):
        """None in a zone without signatures, otherwise "verified" or "not verified"."""
        return None if not self.history.signed else "verified" if available() else "not verified"

    @property
    def creator(self):
        """The fingerprint of the device that made a signed zone. Compare it with the one that you know."""
        members = self._newest.members
        return members.creator if members else None

    def versions(self):
        """The versions that can be read, oldest first: dictionaries of number, timestamp, device and pin (a name, True or None)."""
        made, newer = [], None
        pins = {fields["version"]["value"]: fields for fields in self._pins()}
        for number in reversed(self.history.commits):
            if newer is not None and number != newer - 1:
                break
            body, _, _, own_hash = self.history.commit(number)
            if newer is not None and own_hash != parent:
                raise Damaged(self.history._path("commits", number), "it is not the parent of the next commit")
            parent, newer = body.get("parent"), number
            made.append({"number": number, "timestamp": body["timestamp"], "device": body["device"], "pin": self._pin(pins.get(number))})
            if "zoneEvent" in body:
                made.pop()
        kept = {version["number"] for version in made}
        for number in sorted(set(pins) - kept, reverse=True):
            made.append({"number": number, "timestamp": pins[number]["timestamp"]["value"], "device": None, "pin": self._pin(pins[number])})
        return sorted(made, key=lambda version: version["number"])

    def _pin(self, fields):
        return fields and fields.get("name", {}).get("value", True)

    def _pins(self):
        for name, record in self._newest.records.items():
            if record["type"] == "SnapshotPin" and name.startswith("pin_"):
                yield self.fields(record, self._newest)

    def version(self, number=None):
        """A version, by default the newest."""
        state = None
        if number is None:
            state = self._newest
        elif number not in self.history.list():
            for fields in self._pins():
                if fields["version"]["value"] == number:
                    state = self.history.checkpoint(number, fields["checkpoint"]["value"])
        state = state or self.history.at(number)
        if state.event:
            self.history.ended(state.last)
        return Version(self, state)

    def fields(self, record, state):
        """A record's own fields, decrypted if the zone is encrypted."""
        if not self.secrets or record["name"] in ("snapshot_members", "snapshot_keys"):
            return record["fields"]
        where = f"{self.path}: record {record['name']}"
        if not set(record["fields"]) <= {"assets", "sealed"} or "sealed" not in record["fields"]:
            raise Damaged(where, "a record that is not encrypted")
        self._take_keys(state)
        fields = load(self.secrets.open(unbase64(record["fields"]["sealed"]["value"]), "record", record["name"], where))
        self.history._check_record(dict(record, fields=fields), record["number"])
        inside = {}
        for field in fields.values():
            for one in field["value"] if field["type"] == "list" else [field]:
                if one["type"] == "asset":
                    size = padded(one["value"]["rawSize"]) if self.secrets.padded else one["value"]["rawSize"]
                    inside[one["value"]["path"]] = dict(one["value"], rawSize=size)
        outside = [one["value"] for one in record["fields"].get("assets", {"value": []})["value"]]
        if outside != [inside[path] for path in sorted(inside)]:
            raise Damaged(where, "its assets are not those inside")
        return fields

    def _take_keys(self, state):
        if state.number not in self._opened:
            if not any(self.secrets.take(one().records["snapshot_keys"]) for one in (lambda: state, lambda: self._newest)):
                raise Locked(self.path, "the zone's keys were not given to this key")
            self._opened.add(state.number)


class Version:
    """One version of a zone. Rows are dictionaries of int, float, str, bytes and None; text that is not UTF-8 is a RawText."""

    def __init__(self, zone, state):
        self.zone, self.number, self._state = zone, state.number, state
        fields = {name: zone.fields(record, state) for name, record in state.records.items()}
        self._descriptions = descriptions(fields, state.records, zone.path)
        self._tables = {}
        for name in sorted(fields, key=str.encode):
            if "dataFile" in fields[name]:
                described = self._descriptions.get(name)
                dataset = described.name if described else None
                table = Table(self, name, fields[name], described)
                self._tables[dataset or table.snapshot.index.dataset] = table

    def tables(self):
        """The names of the datasets."""
        return list(self._tables)

    def table(self, name):
        """A dataset by its name, or by its table's name."""
        for dataset, table in self._tables.items():
            if name == dataset:
                return table
        for table in self._tables.values():
            if table.description and table.description.table == name:
                return table
        raise ZoneError("", f"version {self.number} has no table {name}")

    def rows(self, table):
        """Iterates over the rows in the order of their keys. If it ends without an error, every byte was checked."""
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
        self.version, self.record, self.description = version, record, description
        self.where = f"{version.zone.path}: record {record}"
        try:
            self.data, self.count = fields["dataFile"]["value"], fields["recordCount"]["value"]
            self.files = [one["value"] for one in fields.get("changeFiles", {"value": []})["value"]]
            self.timestamp = fields["syncTimestamp"]["value"]
            instant(self.timestamp)
            numbers = [int(asset["path"].split("/")[-1][:20]) for asset in [self.data, *self.files]]
            if not 0 <= self.count <= 1 << 48 or any(a >= b for a, b in zip(numbers, numbers[1:])) or ".changes." in self.data["path"]:
                raise ValueError("the count, or the order of its assets")
            if not all(asset["path"].endswith(".changes.json.gz") for asset in self.files):
                raise ValueError("its change assets")
        except (KeyError, TypeError, ValueError) as error:
            raise Damaged(self.where, f"not a dataset's record: {error}") from error
        self._snapshot = self._changes = None

    def _opened(self, data, kind, path):
        zone = self.version.zone
        if not zone.secrets:
            return data
        zone._take_keys(self.version._state)
        return zone.secrets.open(data, kind, self.record, path)

    @property
    def snapshot(self):
        if not self._snapshot:
            zone = self.version.zone
            made = Snapshot(zone.origin, zone.path, self.data, self._opened)
            if self.description:
                self.description.check(made.index)
            if not self.files and made.index.count != self.count:
                raise Damaged(made.index.path, "another number of entities than the record states")
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
            zone = self.version.zone
            self._changes = Changes(self.snapshot, self.files, zone.origin, zone.path, self._opened)
            if self.files and self._changes.timestamp != self.timestamp:
                raise Damaged(f"{zone.path}/{self.files[-1]['path']}", "another syncTimestamp than the record's")
        return self._changes

    def rows(self):
        snapshot, changes, count = self.snapshot, self.changes(), 0
        try:
            for _, row in changes.over(snapshot.rows()):
                count += 1
                yield snapshot.schema.finished(row)
        except ValueError as error:
            raise Damaged(f"{self.version.zone.path}/{self.files[-1]['path']}", str(error)) from error
        if count != self.count or (not self.files and snapshot.timestamp != self.timestamp):
            raise Damaged(self.where, f"{count} rows of {snapshot.timestamp}, where it states {self.count} of {self.timestamp}")

    def held(self):
        held = dict(self.snapshot.tail().held)
        for key, change in self.changes().by_key.items():
            held.pop(key, None)
            if change[0] == "held":
                held[key] = change[1]
        return [self.snapshot.schema.finished(held[key]) for key in sorted(held)]

    def row(self, key):
        snapshot, changes = self.snapshot, self.changes()
        values = list(key) if isinstance(key, (tuple, list)) else [key]
        if len(values) != len(self.key):
            raise ValueError(f"the key has the columns {self.key}")
        encoded = snapshot.schema.key.encode(values)
        change = changes.by_key.get(encoded)
        if change and change[0] in ("deleted", "held"):
            return None
        row = change[1] if change and change[0] == "row" else snapshot.find(encoded)
        if change and change[0] == "patch":
            if row is None:
                raise Damaged(f"{self.version.zone.path}/{self.files[-1]['path']}", "a partial entity without the entity that it changes")
            row = changes.patched(row, change)
        return None if row is None else snapshot.schema.finished(row)
