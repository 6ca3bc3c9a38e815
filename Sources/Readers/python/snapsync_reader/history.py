"""The commits and checkpoints of a zone, and the records of each version."""
import re

from .assets import digest, whole
from .errors import Damaged, Ended, Incompatible, Missing, Untrusted, ZoneError
from .signatures import Members
from .source import read_whole
from .strict import MAXIMUM, MINIMUM, instant, load, unbase64

COMMIT, CHECKPOINT, MARKER = 16_777_216, 268_435_456, 65_536
NUMBERED = re.compile(r"([0-9]{20})\.json")
NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}")
WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
ASSET = re.compile(r"assets/([^/]+)/([0-9]{20})-[0-9a-f]{8}(\.changes)?\.json\.gz")
HASH = re.compile("[0-9a-f]{64}")
KNOWN = {"signed", "sealed", "padded", "post-quantum"}


def need(condition, what):
    if not condition:
        raise ValueError(what)


def marker(origin, path, missing):
    """Reads `cloud.json` or `zone.json`."""
    try:
        body = load(read_whole(origin, path, MARKER))
        need(isinstance(body, dict) and isinstance(body.get("formatVersion"), int), "no formatVersion")
    except FileNotFoundError as error:
        raise Missing(path, missing) from error
    except (ValueError, RecursionError) as error:
        raise Damaged(path, str(error)) from error
    if body["formatVersion"] != 1:
        raise Incompatible(path, f"format version {body['formatVersion']}")
    return body


def unwrap(data, name, signed):
    """A checksummed document: its parsed body, the body's bytes, and its signature. Raises ValueError."""
    begin = b'{"' + name.encode() + b'":'
    end = 220 if signed else 77
    body = data[len(begin):-end]
    parts = re.fullmatch(rb',"sha256":"([0-9a-f]{64})"' + (rb',"signature":"([0-9a-f]{128})"' if signed else b"()") + rb"\}", data[-end:])
    need(data.startswith(begin) and parts, f"not a whole {name}" + (" with a signature" if signed else ""))
    need(digest(body) == parts[1].decode(), "the checksum is wrong")
    parsed = load(body)
    need(isinstance(parsed, dict), "not an object")
    return parsed, body, bytes.fromhex(parts[2].decode())


def check_field(field, folder, number, levels=0):
    """Checks one typed value. Raises ValueError, or Incompatible for a type that this reader does not know."""
    kind, value = field["type"], field.get("value")
    if kind not in ("string", "integer", "double", "boolean", "date", "asset", "list", "bytes", "reference"):
        raise Incompatible("", f"a field of type {kind}")
    if kind == "integer":
        need(type(value) is int and MINIMUM <= value <= MAXIMUM, "an integer")
    elif kind == "string" or kind == "bytes":
        need(isinstance(value, str), "a string")
        kind == "string" or unbase64(value)
    elif kind == "double":
        need(type(value) in (int, float), "a double")
    elif kind == "boolean":
        need(type(value) is bool, "a boolean")
    elif kind == "date":
        instant(value)
    elif kind == "list":
        need(isinstance(value, list) and levels < 4, "a list")
        for one in value:
            check_field(one, folder, number, levels + 1)
    elif kind == "asset":
        found = ASSET.fullmatch(value["path"])
        need(found and found[1] == folder and 1 <= int(found[2]) <= number, f"the path {value['path']}")
        for part in [value, value.get("index", value)]:
            need(type(part["size"]) is int and 0 <= part["size"] <= 1 << 42 and HASH.fullmatch(part["sha256"]), "an asset's size or hash")
        need(type(value["rawSize"]) is int and 0 <= value["rawSize"] <= 1 << 42, "an asset's raw size")


class State:
    """A zone after one commit."""

    def __init__(self):
        self.number, self.hash, self.time, self.checkpoint = 0, None, None, 0
        self.records, self.answered, self.event, self.members = {}, {}, None, None


class History:
    """Reads and checks commits. `trust` is the fingerprint of the zone's creator, if it is known."""

    def __init__(self, origin, zone, trust=None):
        self.origin, self.zone = origin, zone
        cloud = marker(origin, "cloud.json", "not a cloud directory")
        self.cloud = cloud.get("uuid")
        self.marker = marker(origin, f"{zone}/zone.json", f"no zone {zone}")
        self.features = self.marker.get("features", [])
        if not isinstance(self.features, list) or not set(self.features) <= KNOWN:
            raise Incompatible(f"{zone}/zone.json", f"features {self.features}")
        if self.marker.get("publishers") not in ("one", "many") or not NAME.fullmatch(str(self.marker.get("creator"))):
            raise Damaged(f"{zone}/zone.json", "creator or publishers")
        self.signed = "signed" in self.features
        if trust and not self.signed:
            raise Untrusted(f"{zone}/zone.json", "the zone is not signed")
        self.trust = trust
        self.kept, self.commits = {}, None  # commits by number, once read, and all numbers

    def numbers(self, folder):
        """The numbers in `commits` or `checkpoints`. Without a listing, commits are found by probing, if the first one exists."""
        names = self.origin.list(f"{self.zone}/{folder}")
        if names is not None:
            return sorted({int(found[1]) for found in map(NUMBERED.fullmatch, names) if found} - {0})
        if folder != "commits" or not self._exists(1):
            raise Missing(f"{self.zone}/{folder}", "the folder cannot be listed")
        low, high = 1, 2
        while self._exists(high):
            low, high = high, high * 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._exists(middle) else (low, middle)
        return list(range(1, high))

    def list(self):
        """The numbers of all commits."""
        if self.commits is None:
            self.commits = self.numbers("commits")
        return self.commits

    def _path(self, folder, number):
        return f"{self.zone}/{folder}/{number:020}.json"

    def _exists(self, number):
        try:
            self.origin.open(self._path("commits", number))[0].close()
            return True
        except FileNotFoundError:
            return False

    def commit(self, number):
        """The body, the bytes to sign, the signature and the hash of a commit whose own content is in order."""
        if number not in self.kept:
            path = self._path("commits", number)
            try:
                data = read_whole(self.origin, path, COMMIT)
            except FileNotFoundError as error:
                raise Missing(path, "the commit is missing") from error
            try:
                body, signed, signature = unwrap(data, "commit", self.signed)
                self._check_commit(body, number)
            except Incompatible as error:
                raise Incompatible(path, error.reason) from error
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise Damaged(path, f"not a valid commit: {error}") from error
            if len(self.kept) > 64:
                self.kept.clear()
            self.kept[number] = body, signed, signature, digest(data)
        return self.kept[number]

    def _check_commit(self, body, number):
        requires = body.get("requires", [])
        if not set(requires) <= KNOWN | {"zoneEvents"}:
            raise Incompatible("", f"the commit requires {requires}")
        need(requires == [r for r in requires if r == "zoneEvents"] + self.features or set(requires) - {"zoneEvents"} == set(self.features),
             "requires other features than zone.json")
        need(body["number"] == number, "it states another number")
        need(body["cloud"] == self.cloud and body["zone"] == self.zone, "it belongs to another cloud or zone")
        need(NAME.fullmatch(body["device"]), "the device's name")
        need(("parent" in body) == (number > 1), "a parent is missing, or stated in commit 1")
        if self.marker["creator"] != body["device"] and (number == 1 or self.marker["publishers"] == "one"):
            raise ValueError(f"only {self.marker['creator']} may publish it")
        need(instant("2000-01-01T00:00:00.000Z") <= instant(body["clock"]) < instant("2101-01-01T00:00:00.000Z"), "the clock")
        if "checkpoint" in body:
            need(0 < body["checkpoint"]["number"] < number and HASH.fullmatch(body["checkpoint"]["sha256"]), "its checkpoint")
        names = [record["name"] for record in body["saved"]]
        need(names == sorted(names, key=str.encode), "the order of records")
        need(len(set(names + body["deleted"])) == len(names + body["deleted"]), "a record twice")
        for record in body["saved"]:
            self._check_record(record, number)
        event = body.get("zoneEvent")
        need(not event or ("zoneEvents" in requires and not body["saved"] and not body["deleted"]), "an event with records")

    def _check_record(self, record, number):
        need(NAME.fullmatch(record["name"]) and WORD.fullmatch(record["type"]), "a record's name or type")
        for name, field in record["fields"].items():
            need(WORD.fullmatch(name), "a field's name")
            check_field(field, record["name"], number)

    def apply(self, state, number):
        """Puts a commit on the state before it, after all checks of the two together."""
        body, signed, signature, own_hash = self.commit(number)
        path = self._path("commits", number)
        try:
            need(number == state.number + 1, "the commit before is missing")
            need(body.get("parent") == state.hash, "its parent is not the commit before it")
            clock, time = instant(body["clock"]), instant(body["timestamp"])
            need(time == (clock if state.time is None else max(clock, state.time + 1000)), "the timestamp")
            checkpoint = body.get("checkpoint", {"number": 0})["number"]
            need(checkpoint >= state.checkpoint, "its checkpoint is older than that of the commit before")
            answered = body.get("answered", {})
            need(all(answered.get(device, 0) >= last for device, last in state.answered.items()), "answered has fallen")
            need(all(type(last) is int and last > 0 for last in answered.values()), "answered")
            kind = body.get("zoneEvent", {}).get("kind")
            need(kind in (None, "deleted", "created", "moved") and (state.event == "deleted") == (kind == "created"), "an event out of order")
            need(state.event != "moved", "a commit after the one that moved the zone")
        except (ValueError, TypeError, AttributeError) as error:
            raise Damaged(path, str(error)) from error
        if self.signed:
            self._check_signature(state, body, signed, signature, path)
        if kind == "deleted":
            state.records = {name: record for name, record in state.records.items() if name in ("snapshot_members", "snapshot_keys")}
        state.records.update((record["name"], dict(record, number=number)) for record in body["saved"])
        for name in body["deleted"]:
            state.records.pop(name, None)
        state.number, state.hash, state.time, state.answered = number, own_hash, time, answered
        state.checkpoint, state.event, state.last = checkpoint, kind if kind != "created" else None, body

    def _check_signature(self, state, body, signed, signature, path):
        record = next((r for r in body["saved"] if r["name"] == "snapshot_members"), None)
        try:
            need("snapshot_members" not in body["deleted"] and "snapshot_keys" not in body["deleted"], "it deletes the members or keys")
            new = self._members(record) if record else None
            need(state.members or new, "no list of members")
            need(not new or not state.members or new.follows(state.members), "the list of members is not continued")
            if state.members is None:
                need(len(new.statements) == 1, "the first list of members")
            (state.members or new).check_commit(body, signed, signature)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Untrusted(path, str(error)) from error
        state.members = new or state.members

    def _members(self, record):
        return Members([one["value"] for one in record["fields"]["statements"]["value"]], self.cloud, self.zone, self.trust)

    def checkpoint(self, number, sha256):
        """The state that a checkpoint states, whose hash a commit or a pin names."""
        path = self._path("checkpoints", number)
        try:
            data = read_whole(self.origin, path, CHECKPOINT)
        except FileNotFoundError as error:
            raise Missing(path, "the checkpoint is missing") from error
        try:
            need(digest(data) == sha256, "another SHA-256 than the one that was named")
            body = unwrap(data, "checkpoint", False)[0]
            need((body["number"], body["cloud"], body["zone"]) == (number, self.cloud, self.zone), "it belongs to another place")
            state = State()
            names = [record["name"] for record in body["records"]]
            need(names == sorted(set(names), key=str.encode), "the order of records")
            for record in body["records"]:
                tag = int(record["changeTag"])
                need(0 < tag <= number, "a change tag")
                self._check_record(record, tag)
                state.records[record["name"]] = dict(record, number=tag)
            state.number, state.hash, state.time = number, body["commit"], instant(body["timestamp"])
            state.answered, state.event = body.get("answered", {}), "deleted" if "zoneDeletion" in body else None
            state.last = dict(body, zoneEvent={"reason": body.get("zoneDeletion", {}).get("reason")}, device=None)
        except Incompatible as error:
            raise Incompatible(path, error.reason) from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Damaged(path, f"not a valid checkpoint: {error}") from error
        if self.signed:
            try:
                state.members = self._members(state.records["snapshot_members"])
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise Untrusted(path, str(error)) from error
        return state

    def at(self, number):
        """The state after commit `number`, from the checkpoint that it names, else from another one that can be used."""
        failure = None
        for begin in self._begins(number):
            try:
                state = self.checkpoint(*begin) if begin else State()
                if begin and number >= state.number > 0 and number in self.list() and state.number in self.list():
                    if state.hash != self.commit(state.number)[3]:
                        raise Damaged(self._path("checkpoints", begin[0]), "its commit is not the one that exists")
                for one in range(state.number + 1, number + 1):
                    self.apply(state, one)
                return state
            except Missing as error:
                failure = failure or error
        raise failure or Missing(self._path("commits", number), "no such version")

    def _begins(self, number):
        tried = set()
        if number in self.list():
            named = self.commit(number)[0].get("checkpoint")
            if named:
                tried.add(named["number"])
                yield named["number"], named["sha256"]
            if not named or 1 in self.list():
                yield None
        later = {}
        for one in self.list():
            if one >= number:
                try:
                    named = self.commit(one)[0].get("checkpoint")
                except ZoneError:
                    continue
                if named and named["number"] <= number:
                    later[named["number"]] = named["sha256"]
        for one in sorted(set(later) - tried, reverse=True):
            yield one, later[one]

    def newest(self):
        """The state after the newest commit. Lists again, at most twice, if a file vanishes while it reads."""
        for attempt in range(3):
            self.commits = None
            if not self.list():
                raise Missing(f"{self.zone}/commits", "no version was published yet")
            try:
                return self.at(self.commits[-1])
            except Missing:
                body = self.commit(self.commits[-1])[0]
                if body.get("zoneEvent", {}).get("kind") == "moved":
                    self.ended(body)
                if attempt == 2:
                    raise

    def ended(self, body):
        """Raises the error for a zone that was deleted or moved."""
        event = body.get("zoneEvent") or {}
        if event.get("kind") == "moved":
            raise Ended(self.zone, f"the zone continues as {event.get('to', {}).get('zone')}; versions before {body['number']} can be read")
        raise Ended(self.zone, f"the zone was deleted: {event.get('reason')}")
