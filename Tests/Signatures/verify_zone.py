#!/usr/bin/env python3
"""Checks who signed a zone, as docs/sealed.md says, with PyPI's cryptography and nothing of snapsync.

    verify_zone.py CLOUD/private/ZONE [WORDS]     WORDS: the fingerprint of the zone's creator

Prints the zone's members, one a line, and its newest commit. Exit code 65: something is not as it must be.
"""
import hashlib, json, os, sys
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def sha(data): return hashlib.sha256(data).hexdigest()


def document(data, name):
    """The body of a signed document, and how to check who signed it."""
    head = ('{"%s":' % name).encode()
    body = data[len(head):-220]  # ,"sha256":" + 64 + ","signature":" + 128 + "}
    assert data == head + body + (',"sha256":"%s","signature":"' % sha(body)).encode() + data[-130:-2] + b'"}', "not a whole document"
    def check(key): Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(bytes.fromhex(data[-130:-2].decode()), b"snapsync-%s 1\n" % name.encode() + body)
    return json.loads(body), check


def words(key, seal_key):
    digest = hashlib.sha256(b"snapsync-key 1\n" + bytes.fromhex(key) + bytes.fromhex(seal_key)).digest()
    def word(n): return "".join(("bdfghjklmnprstvz"[n >> s & 15] if s in (12, 6, 0) else "aiou"[n >> s & 3]) for s in (12, 10, 6, 4, 0))
    return "-".join(word(digest[i] << 8 | digest[i + 1]) for i in range(0, 16, 2))


def members(record, cloud, zone, trusted=None):
    """Who may do what: name -> [role, key]."""
    now, parent = {}, None
    for number, value in enumerate(record["fields"]["statements"]["value"], 1):
        text = value["value"].encode()
        s, check = document(text, "statement")
        assert (s["cloud"], s["zone"], s["number"], s.get("parent")) == (cloud, zone, number, parent), "a statement of another place"
        assert (s["action"] == "create") == (number == 1)
        check(s["key"] if number == 1 else now[s["by"]][1])
        assert number > 1 or trusted in (None, words(s["key"], s["sealKey"])), "another creator"
        assert number == 1 or now[s["by"]][0] in ("writer", "peer"), "signed by somebody who may not"
        if s["action"] == "remove": del now[s["device"]]
        elif s["action"] == "role": now[s["device"]][0] = s["role"]
        else: now[s["device"]] = [s["role"], s["key"]]
        parent = sha(text)
    return now


def verify(path, trusted=None):
    path = path.rstrip("/")
    cloud = json.load(open(path + "/../../cloud.json"))["uuid"]
    zone = "/".join(path.split("/")[-2:])
    assert "signed" in json.load(open(path + "/zone.json"))["features"], "zone.json does not say that the zone is signed"
    def read(folder, number): return open("%s/%s/%020d.json" % (path, folder, number), "rb").read()
    newest = max(int(name[:20]) for name in os.listdir(path + "/commits") if len(name) == 25)
    start = document(read("commits", newest), "commit")[0].get("checkpoint")
    now, number, parent = {}, 0, None
    if start:
        data = read("checkpoints", start["number"])
        assert sha(data) == start["sha256"], "another checkpoint"
        checkpoint = json.loads(data)["checkpoint"]
        number, parent = start["number"], checkpoint["commit"]
        now = members([r for r in checkpoint["records"] if r["name"] == "snapshot_members"][0], cloud, zone, trusted)
    for number in range(number + 1, newest + 1):
        data = read("commits", number)
        c, check = document(data, "commit")
        assert (c["cloud"], c["zone"], c["number"], c.get("parent")) == (cloud, zone, number, parent), "a commit of another place"
        check(c["key"])
        after = [members(r, cloud, zone, trusted) for r in c["saved"] if r["name"] == "snapshot_members"]
        allowed = now or after[0]
        assert allowed[c["device"]][1] == c["key"] and allowed[c["device"]][0] in ("writer", "peer"), "commit %d is not by a member who publishes" % number
        now, parent = (after or [now])[0], sha(data)
    return now, number


if __name__ == "__main__":
    try:
        now, number = verify(*sys.argv[1:])
    except (AssertionError, InvalidSignature, KeyError, ValueError) as error:
        print("%s: %s" % (type(error).__name__, error))
        sys.exit(65)
    for name, (role, key) in now.items(): print(name, role)
    print("commit", number)
