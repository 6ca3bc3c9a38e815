"""Prints the rows of a sealed zone's newest version, a JSON object a line, with PyPI's cryptography and nothing of snapsync.

    read_zone.py CLOUD/private/ZONE KEYFILE|- DATASET       - reads the words of the recovery code from standard input
"""
import base64, glob, hashlib, hmac, json, sys, zlib
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

path, key_file, dataset = sys.argv[1:]
place = [json.load(open(path + "/../../cloud.json"))["uuid"], "/".join(path.rstrip("/").split("/")[-2:])]
features = json.load(open(path + "/zone.json"))["features"]

def mac(key, data): return hmac.new(key, data, hashlib.sha256).digest()
def derive(secret, label): return mac(mac(bytes(32), secret), label + b"\1")  # HKDF-SHA256
def lines(label, number): return "".join(text + "\n" for text in [label, *place, str(number)]).encode()
def seed():
    if key_file != "-": return bytes.fromhex(json.load(open(key_file))["sealingSeed"])
    letters = [(letter, place) for word in sys.stdin.read().replace("-", " ").split() for place, letter in enumerate(word)]
    bits = "".join(format("aiou".index(c), "02b") if place % 2 else format("bdfghjklmnprstvz".index(c), "04b") for c, place in letters)
    return int(bits, 2).to_bytes(36, "big")[:32]
def secrets(fields, seed):
    number, wraps = fields["epoch"], {name["value"]: base64.b64decode(wrap["value"]) for name, wrap in (pair["value"] for pair in fields["wraps"])}
    if "post-quantum" in features:
        both, suite = hashlib.shake_256(seed).digest(96), hpke.Suite(hpke.KEM.MLKEM768_X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_256_GCM)
        parts = MLKEM768PrivateKey.from_seed_bytes(both[:64]), X25519PrivateKey.from_private_bytes(both[64:])
        key, name = hpke.MLKEM768X25519PrivateKey(*parts), hashlib.sha256(b"".join(part.public_key().public_bytes_raw() for part in parts)).hexdigest()
    else:
        key, suite = X25519PrivateKey.from_private_bytes(seed), hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.CHACHA20_POLY1305)
        name = key.public_key().public_bytes_raw().hex()
    found = {number: suite.decrypt(wraps[name], key, lines("snapsync-epoch 1", number))}
    for sealed in (base64.b64decode(value["value"]) for value in reversed(fields["previous"])):
        cipher, number = AESGCM(derive(found[number], b"snapsync.previous.1")), number - 1
        found[number] = cipher.decrypt(sealed[:12], sealed[12:], lines("snapsync-previous 1", number + 1))
    return found

def opened(box, kind, record):
    secret, context = keys[int.from_bytes(box[:4], "big")], b"snapsync.box.1\0" + box[:4] + "".join(t + "\0" for t in [*place, kind, record]).encode()
    contents = AESGCM(mac(derive(secret, b"snapsync.key.1"), box[4:36])).decrypt(bytes(12), box[36:], context)
    assert mac(derive(secret, b"snapsync.id.1"), context + contents) == box[4:36], "not what the box was made of"
    return contents.rstrip(b"\0")[:-1] if "padded" in features else contents
def read(name): return open(path + "/" + name, "rb").read()
def inflate(box): return zlib.decompress(opened(box, "member", record), 31)

records, record = {}, dataset + "_data"
for file in sorted(glob.glob(path + "/checkpoints/*.json"))[-1:] + sorted(glob.glob(path + "/commits/*.json")):
    for document in json.load(open(file)).values():
        if isinstance(document, dict): records.update((r["name"], r["fields"]) for r in document.get("saved", document.get("records")))
keys = secrets({name: field["value"] for name, field in records["snapshot_keys"].items()}, seed())
fields = json.loads(opened(base64.b64decode(records[record]["sealed"]["value"]), "record", record))
asset = fields["dataFile"]["value"]["path"]
index, data = json.loads(opened(read(asset.replace(".json.gz", ".index.json")), "index", record)), read(asset)
members = [data[part["offset"]:part["offset"] + part["length"]] for part in [index["header"], *index["blocks"], index["tail"]]]
changes = [inflate(read(value["value"]["path"])) for value in fields.get("changeFiles", {"value": []})["value"]]
key_names, rows = index["key"] if isinstance(index["key"], list) else [index["key"]], {}
for text in map(json.loads, [b"".join(map(inflate, members)), *changes]):
    for deletion in text.get("deletions", []): rows.pop(json.dumps(deletion["id"] if isinstance(deletion["id"], list) else [deletion["id"]]), None)
    for row in text[dataset]:
        # A partial entity is put over the one before: an array of it and the columns that became NULL.
        row, absent = (row[0], row[1:]) if isinstance(row, list) else (row, None)
        key = json.dumps([row[name] for name in key_names])
        rows[key] = row if absent is None else {name: value for name, value in {**rows[key], **row}.items() if name not in absent}
for row in rows.values(): print(json.dumps(row, ensure_ascii=False))
