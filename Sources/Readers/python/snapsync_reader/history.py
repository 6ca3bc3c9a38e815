"""The commits and checkpoints of a zone, the records of each version, and who has signed them."""
import re

from .assets import HASH, digest
from .files import Damaged, Ended, Incompatible, Missing, Untrusted, ZoneError, checked, need, read_whole
from .rows import instant, load, unbase64

COMMIT, CHECKPOINT, MARKER = 16_777_216, 268_435_456, 65_536
NUMBERED, NAME, WORD = re.compile(r"([0-9]{20})\.json"), re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}"), re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
ASSET = re.compile(r"assets/([^/]+)/([0-9]{20})-[0-9a-f]{8}(\.changes)?\.json\.gz")
FEATURES, PUBLISH, LETTERS = {"signed", "sealed", "padded", "post-quantum"}, ("writer", "peer"), ("bdfghjklmnprstvz", "aiou")
KINDS = {"string": str, "integer": int, "double": (int, float), "boolean": bool, "date": str, "list": list, "bytes": str, "asset": dict, "reference": dict}
KEPT = ("snapshot_members", "snapshot_keys")  # records that outlive a deletion of the zone


def unwrap(data, name, signed):
    """A checksummed document: its parsed body, the body's bytes, and its signature. Raises ValueError."""
    begin, end = b'{"' + name.encode() + b'":', 220 if signed else 77
    body, rest = data[len(begin):-end], rb'","signature":"([0-9a-f]{128})"\}' if signed else rb'()"\}'
    found = re.fullmatch(rb',"sha256":"([0-9a-f]{64})' + rest, data[-end:])
    need(data.startswith(begin) and found, f"not a whole {name}" + " with a signature" * signed)
    need(digest(body) == found[1].decode(), "the checksum is wrong")
    return load(body), body, bytes.fromhex(found[2].decode())


def check_field(field, folder, number, levels=0):
    """Checks one typed value. Raises ValueError, or Incompatible for a type that this reader does not know."""
    kind, value = field["type"], field["value"]
    if kind not in KINDS:
        raise Incompatible("", f"a field of type {kind}")
    need(isinstance(value, KINDS[kind]) and isinstance(value, bool) == (kind == "boolean") and levels <= 4, f"a {kind}")
    if kind == "date" or kind == "bytes":
        (instant if kind == "date" else unbase64)(value)
    for one in value if kind == "list" else []:
        check_field(one, folder, number, levels + 1)
    if kind == "asset":
        found = ASSET.fullmatch(value["path"])
        need(found and found[1] == folder and 1 <= int(found[2]) <= number, f"the path {value['path']}")
        sizes = [part[name] for part, name in ((value, "size"), (value, "rawSize"), (value.get("index", value), "size"))]
        need(all(type(size) is int and 0 <= size <= 1 << 42 for size in sizes), "an asset's size")
        need(HASH.fullmatch(value["sha256"]) and HASH.fullmatch(value.get("index", value)["sha256"]), "an asset's hash")


def check_record(record, number):
    need(NAME.fullmatch(record["name"]) and WORD.fullmatch(record["type"]), "a record's name or type")
    for name, field in record["fields"].items():
        need(WORD.fullmatch(name), "a field's name")
        check_field(field, record["name"], number)


class State:
    """A zone after one commit."""

    def __init__(self, number=0, hash=None, time=None, answered=None):
        self.number, self.hash, self.time, self.answered, self.event = number, hash, time, answered or {}, None
        self.records, self.checkpoint, self.members = {}, 0, None


class History:
    """Reads and checks commits. `trust` is the fingerprint of the zone's creator, if it is known."""

    def __init__(self, origin, zone, trust=None):
        self.origin, self.zone, self.trust, self.kept, self.numbers, path = origin, zone, trust, {}, None, f"{zone}/zone.json"
        self.cloud = self._marker("cloud.json").get("uuid")
        marker = self._marker(path)
        with checked(path, "the zone's marker"):
            self.features, self.creator, self.many = marker["features"], marker["creator"], marker["publishers"] == "many"
            need(NAME.fullmatch(self.creator) and marker["publishers"] in ("one", "many"), "creator or publishers")
            if not set(self.features) <= FEATURES:
                raise Incompatible(path, f"features {self.features}")
        self.signed = "signed" in self.features
        if trust and not self.signed:
            raise Untrusted(path, "the zone is not signed")

    def _marker(self, path):
        data = read_whole(self.origin, path, MARKER)
        with checked(path, "the marker"):
            body = load(data)
            if body["formatVersion"] != 1:
                raise Incompatible(path, f"format version {body['formatVersion']}")
            return body

    def path(self, folder, number):
        return f"{self.zone}/{folder}/{number:020}.json"

    def list(self, again=False):
        """The numbers of all commits. Where the server lists no folder, they are found by probing, if commit 1 still exists."""
        if self.numbers is None or again:
            names = self.origin.list(f"{self.zone}/commits")
            if names is None:
                low, step = 0, 1
                while self._exists(low + step):
                    low, step = low + step, step * 2
                while step:
                    low, step = low + step * self._exists(low + step), step // 2
                self.numbers = list(range(1, low + 1))
            else:
                self.numbers = sorted({int(found[1]) for found in map(NUMBERED.fullmatch, names) if found} - {0})
        return self.numbers

    def _exists(self, number):
        try:
            self.origin.open(self.path("commits", number))[0].close()
            return True
        except FileNotFoundError:
            return False

    def commit(self, number):
        """The body, the bytes to sign, the signature and the hash of a commit whose own content is in order."""
        if number not in self.kept:
            path = self.path("commits", number)
            data = read_whole(self.origin, path, COMMIT)
            with checked(path, "the commit"):
                body, signed, signature = unwrap(data, "commit", self.signed)
                self._check(body, number)
            if len(self.kept) > 64:
                self.kept.clear()
            self.kept[number] = body, signed, signature, digest(data)
        return self.kept[number]

    def _check(self, body, number):
        requires, event = body.get("requires", []), body.get("zoneEvent")
        if not set(requires) <= FEATURES | {"zoneEvents"}:
            raise Incompatible("", f"it requires {requires}")
        need(set(requires) - {"zoneEvents"} == set(self.features), "it requires other features than the zone's")
        need((body["number"], body["cloud"], body["zone"]) == (number, self.cloud, self.zone), "it belongs to another place")
        need(NAME.fullmatch(body["device"]) and ("parent" in body) == (number > 1), "its device or parent")
        need(body["device"] == self.creator or (number > 1 and self.many), f"only {self.creator} may publish it")
        need(2000 <= int(body["clock"][:4]) <= 2100 and instant(body["clock"]), "the clock")
        checkpoint = body.get("checkpoint", {"number": 0, "sha256": "0" * 64})
        need(("checkpoint" not in body or 0 < checkpoint["number"] < number) and HASH.fullmatch(checkpoint["sha256"]), "its checkpoint")
        names = [record["name"] for record in body["saved"]]
        need(names == sorted(names, key=str.encode) and len({*names, *body["deleted"]}) == len(names + body["deleted"]), "the records' names")
        need(not event or ("zoneEvents" in requires and not names and not body["deleted"]), "an event with records")
        for record in body["saved"]:
            check_record(record, number)

    def apply(self, state, number):
        """Puts a commit on the state before it, after all checks of the two together."""
        (body, signed, signature, own_hash), path = self.commit(number), self.path("commits", number)
        with checked(path, "after the commit before it"):
            kind, answered = body.get("zoneEvent", {}).get("kind"), body.get("answered", {})
            clock, time = instant(body["clock"]), instant(body["timestamp"])
            need(number == state.number + 1 and body.get("parent") == state.hash, "its parent is another commit")
            need(time == (clock if state.time is None else max(clock, state.time + 1000)), "the timestamp")
            checkpoint = body.get("checkpoint", {"number": 0})["number"]
            need(checkpoint >= state.checkpoint, "its checkpoint is older than that of the commit before")
            need(all(answered.get(device, 0) >= last for device, last in state.answered.items()), "answered has fallen")
            need(kind in (None, "moved") and state.event != "moved", "an event")
        if self.signed:
            with checked(path, "signature or members", Untrusted):
                saved = {record["name"]: record for record in body["saved"]}
                new = self._members(saved[KEPT[0]]) if KEPT[0] in saved else None
                need(not set(KEPT) & set(body["deleted"]), "it deletes the members or the keys")
                need(state.members or len(new.statements) == 1, "the first list of members")
                need(not new or not state.members or new.statements[:len(state.members.statements)] == state.members.statements, "a list that loses members")
                (state.members or new).check(body, signed, signature)
                state.members = new or state.members
        state.records.update((record["name"], dict(record, number=number)) for record in body["saved"])
        for name in body["deleted"]:
            state.records.pop(name, None)
        state.number, state.hash, state.time, state.answered, state.checkpoint = number, own_hash, time, answered, checkpoint
        state.event, state.next = kind, body.get("zoneEvent", {}).get("to", {}).get("zone")

    def _members(self, record):
        return Members([one["value"] for one in record["fields"]["statements"]["value"]], self.cloud, self.zone, self.trust)

    def checkpoint(self, number, sha256):
        """The state of a checkpoint whose hash a commit or a pin names."""
        path = self.path("checkpoints", number)
        data = read_whole(self.origin, path, CHECKPOINT)
        with checked(path, "the checkpoint"):
            need(digest(data) == sha256, "another SHA-256 than the one that was named")
            body = unwrap(data, "checkpoint", False)[0]
            need((body["number"], body["cloud"], body["zone"]) == (number, self.cloud, self.zone), "it belongs to another place")
            state, names = State(number, body["commit"], instant(body["timestamp"]), body.get("answered")), [r["name"] for r in body["records"]]
            need(names == sorted(set(names), key=str.encode), "the order of records")
            for record in body["records"]:
                need(0 < int(record["changeTag"]) <= number, "a change tag")
                check_record(record, int(record["changeTag"]))
                state.records[record["name"]] = dict(record, number=int(record["changeTag"]))
        if self.signed:
            with checked(path, "the members", Untrusted):
                state.members = self._members(state.records[KEPT[0]])
        return state

    def at(self, number):
        """The state after commit `number`, from the checkpoint that it names, otherwise from another one that can be used."""
        failure = Missing(self.path("commits", number), "no such version")
        for begin in self._begins(number):
            try:
                state = self.checkpoint(*begin) if begin else State()
                for one in range(state.number + 1, number + 1):
                    self.apply(state, one)
                return state
            except Missing as error:
                failure = error
        raise failure

    def _begins(self, number):
        first, later = None, {}
        if number in self.list():
            named = self.commit(number)[0].get("checkpoint")
            if named:
                first = named["number"]
                yield first, named["sha256"]
            if not named or 1 in self.list():
                yield None
        for one in self.list():
            try:
                named = self.commit(one)[0].get("checkpoint") if one >= number else None
            except ZoneError:
                continue
            if named and named["number"] <= number and named["number"] != first:
                later[named["number"]] = named["sha256"]
        yield from sorted(later.items(), reverse=True)

    def newest(self):
        """The state after the newest commit. Lists again, at most twice, if a file vanishes meanwhile."""
        for attempt in (1, 2, 3):
            numbers = self.list(again=True)
            if not numbers:
                raise Missing(f"{self.zone}/commits", "no commit is listed, or the server lists no folders and commit 1 was removed")
            try:
                return self.at(numbers[-1])
            except Missing:
                event = self.commit(numbers[-1])[0].get("zoneEvent", {})
                if event.get("kind") == "moved":
                    raise Ended(self.zone, f"the zone continues as {event['to'].get('zone')}") from None
                if attempt == 3:
                    raise


def ed25519():
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519 as module
        return module
    except ImportError:
        return None


def word(number):
    """16 bits as a word of a fingerprint."""
    return "".join(LETTERS[place % 2][number >> shift & (3 if place % 2 else 15)] for place, shift in enumerate((12, 10, 6, 4, 0)))


def unword(text):
    """The 2 bytes of a word. Raises ValueError."""
    number = 0
    for place, letter in enumerate(text):
        number = number << (2 if place % 2 else 4) | LETTERS[place % 2].index(letter)
    return number.to_bytes(2, "big")


def verify(key, kind, body, signature):
    if ed25519():
        from cryptography.exceptions import InvalidSignature
        try:
            ed25519().Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(signature, f"snapsync-{kind} 1\n".encode() + body)
        except InvalidSignature as error:
            raise ValueError("the signature is not valid") from error


class Members:
    """A checked list of members. Raises ValueError, or KeyError for a name that is no member's."""

    def __init__(self, statements, cloud, zone, trust):
        self.statements, members, parent = statements, {}, None
        need(0 < len(statements) <= 4096, "the number of statements")
        for number, text in enumerate(statements, 1):
            body, signed, signature = unwrap(text.encode(), "statement", True)
            action, device = body["action"], body["device"]
            need((body["number"], body.get("parent"), body["cloud"], body["zone"]) == (number, parent, cloud, zone), "a statement out of place")
            need((action == "create") == (number == 1) and instant(body["clock"]), "who created the zone")
            if number == 1:
                code = bytes.fromhex(digest(b"snapsync-key 1\n" + bytes.fromhex(body["key"]) + bytes.fromhex(body["sealKey"])))
                self.creator = "-".join(word(int.from_bytes(code[i:i + 2], "big")) for i in range(0, 16, 2))
                need(trust in (None, self.creator) and body["by"] == device, f"the creator is {self.creator}")
            author = body if number == 1 else members[body["by"]]
            need(author["role"] in PUBLISH, "who may change the list")
            verify(author["key"], "statement", signed, signature)
            if action in ("create", "add"):
                need(device not in members and body["key"] not in [m["key"] for m in members.values()], "a name or a key twice")
                members[device] = body
            elif action == "role":
                members[device] = dict(members[device], role=body["role"])
            else:
                need(action == "remove" and members.pop(device), "an unknown action")
            need(all(m["role"] in (*PUBLISH, "reader", "observer") for m in members.values()), "a role")
            need(any(m["role"] in PUBLISH for m in members.values()), "no member is left that publishes")
            parent = digest(text.encode())
        self.members = members

    def check(self, body, signed, signature):
        member = self.members[body["device"]]
        need(member["key"] == body["key"] and member["role"] in PUBLISH, f"{body['device']} with this key may not publish")
        verify(body["key"], "commit", signed, signature)
