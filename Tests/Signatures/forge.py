"""Makes documents of a signed zone, true and false ones, apart from the code under test: what a holder of some keys could put there.

A forgery is a piece of Python that uses these names.
"""
import copy, datetime, glob, hashlib, json, os, shutil, sys
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from verify_zone import document, sha, words

ZONE = "cloud/private/" + ("main" if os.path.isdir("cloud/private/main") else "ZentikSyncZone")


class Keys:
    """A device's keys: new ones, or those of a key file."""

    def __init__(self, path=None):
        seeds = json.load(open(path)) if path else {"signingSeed": os.urandom(32).hex(), "sealingSeed": os.urandom(32).hex()}
        self.signing = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(seeds["signingSeed"]))
        raw = dict(encoding=Encoding.Raw, format=PublicFormat.Raw)
        self.key = self.signing.public_key().public_bytes(**raw).hex()
        seed = bytes.fromhex(seeds["sealingSeed"])
        if "sealing" in seeds:
            from sealed import seal_key
            self.seal_key = seal_key(seed, True).hex()
        else: self.seal_key = X25519PrivateKey.from_private_bytes(seed).public_key().public_bytes(**raw).hex()
        self.words = words(self.key, self.seal_key)


def key_file(device, keys="keys"): return glob.glob("%s/snapsync/keys/*/*/*/%s.json" % (keys, device))[0]


def keys_of(device): return Keys(key_file(device))


def text(value): return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def seal(value, name, keys=None, label=None):
    body = value if isinstance(value, bytes) else text(value)
    sealed = ('{"%s":' % name).encode() + body + (',"sha256":"%s"' % sha(body)).encode()
    if keys is None: return sealed + b"}"
    return sealed + (',"signature":"%s"}' % keys.signing.sign((label or "snapsync-%s 1\n" % name).encode() + body).hex()).encode()


def read(path): return open(path, "rb").read()


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "wb").write(data)
    # A file that is too short and young would count as still arriving.
    os.utime(path, (os.path.getmtime(path) - 3600,) * 2)


def commit_path(number, zone=ZONE): return "%s/commits/%020d.json" % (zone, number)


def newest(zone=ZONE): return max(int(os.path.basename(p)[:20]) for p in glob.glob(zone + "/commits/*.json"))


def load(number, zone=ZONE):
    data = read(commit_path(number, zone))
    return json.loads(data)["commit"]


def put(commit, keys, zone=ZONE, **options): write(commit_path(commit["number"], zone), seal(commit, "commit", keys, **options))


def following(device, keys, zone=ZONE):
    """A commit that a device could make after the newest one: it says again what that one saved."""
    last = newest(zone)
    commit = load(last, zone)
    commit.update(number=last + 1, parent=sha(read(commit_path(last, zone))), device=device, key=keys.key, nonce=os.urandom(8).hex())
    time = datetime.datetime.fromisoformat(commit["timestamp"].replace("Z", "+00:00")) + datetime.timedelta(minutes=1)
    commit["clock"] = commit["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%S.") + "%03dZ" % (time.microsecond // 1000)
    commit["saved"] = [r for r in commit["saved"] if r["name"] != "snapshot_members"] or [dict(name="n", type="T", fields={})]
    return commit


def statements(zone=ZONE):
    """The member list of the newest commit that has one."""
    for number in range(newest(zone), 0, -1):
        if not os.path.exists(commit_path(number, zone)): break
        for record in load(number, zone)["saved"]:
            if record["name"] == "snapshot_members": return [v["value"] for v in record["fields"]["statements"]["value"]]
    return []


def members_record(texts):
    return {"name": "snapshot_members", "type": "SnapshotMembers", "fields": {"statements": {"type": "list", "value": [{"type": "string", "value": t} for t in texts]}}}


def statement(texts, keys, **fields):
    """The list with one more statement."""
    first = json.loads(texts[0])["statement"] if texts else {}
    body = {"cloud": first.get("cloud"), "zone": first.get("zone"), "clock": "2026-03-01T08:00:00.000Z", "number": len(texts) + 1}
    if texts: body["parent"] = sha(texts[-1].encode())
    body.update(fields)
    return texts + [seal(body, "statement", keys).decode()]


def flip(path, position, bit):
    data = bytearray(read(path))
    data[position] ^= 1 << bit
    write(path, bytes(data))
