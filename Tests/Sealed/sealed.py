"""Keys, boxes, records and messages of a sealed zone, as docs/sealed.md says, with PyPI's cryptography and nothing of snapsync.

    keys = open_zone("cloud/private/ZentikSyncZone", seed_of("phone"))
    fields = keys.record(load(2)["saved"][0])
"""
import base64, glob, hashlib, hmac, json, os, struct
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hpke as hybrid
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


def mac(key, data): return hmac.new(key, data, hashlib.sha256).digest()


# HKDF-SHA256 (RFC 5869).
def extract(salt, secret): return mac(salt or bytes(32), secret)


def expand(key, info, length):
    blocks, last = b"", b""
    for number in range(1, 256):
        last = mac(key, last + info + bytes([number]))
        blocks += last
        if len(blocks) >= length: return blocks[:length]


def derive(secret, info, length=32): return expand(extract(b"", secret), info, length)


# HPKE (RFC 9180), base mode: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20Poly1305.
KEM, SUITE = b"KEM\x00\x20", b"HPKE\x00\x20\x00\x01\x00\x03"


def labeled_extract(suite, salt, label, secret): return extract(salt, b"HPKE-v1" + suite + label + secret)


def labeled_expand(suite, key, label, info, length): return expand(key, struct.pack(">H", length) + b"HPKE-v1" + suite + label + info, length)


def public(private): return private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def hpke(shared, enc, recipient, info):
    secret = labeled_expand(KEM, labeled_extract(KEM, b"", b"eae_prk", shared), b"shared_secret", enc + recipient, 32)
    context = b"\x00" + labeled_extract(SUITE, b"", b"psk_id_hash", b"") + labeled_extract(SUITE, b"", b"info_hash", info)
    secret = labeled_extract(SUITE, secret, b"secret", b"")
    return ChaCha20Poly1305(labeled_expand(SUITE, secret, b"key", context, 32)), labeled_expand(SUITE, secret, b"base_nonce", context, 12)


def epoch_info(cloud, zone, epoch): return ("snapsync-epoch 1\n%s\n%s\n%d\n" % (cloud, zone, epoch)).encode()


# HPKE with X-Wing, HKDF-SHA256, AES-256-GCM.
X_WING = hybrid.Suite(hybrid.KEM.MLKEM768_X25519, hybrid.KDF.HKDF_SHA256, hybrid.AEAD.AES_256_GCM)


def x_wing(seed):
    """The two private keys of an X-Wing seed."""
    expanded = hashlib.shake_256(seed).digest(96)
    return MLKEM768PrivateKey.from_seed_bytes(expanded[:64]), X25519PrivateKey.from_private_bytes(expanded[64:])


def seal_key(seed, is_hybrid=False):
    """The public key of a sealing seed."""
    if not is_hybrid: return public(X25519PrivateKey.from_private_bytes(seed))
    lattice, curve = x_wing(seed)
    return lattice.public_key().public_bytes_raw() + public(curve)


def unwrap(wrap, seed, cloud, zone, epoch):
    if len(wrap) > 1000: return X_WING.decrypt(wrap, hybrid.MLKEM768X25519PrivateKey(*x_wing(seed)), epoch_info(cloud, zone, epoch))
    private = X25519PrivateKey.from_private_bytes(seed)
    cipher, nonce = hpke(private.exchange(X25519PublicKey.from_public_bytes(wrap[:32])), wrap[:32], public(private), epoch_info(cloud, zone, epoch))
    return cipher.decrypt(nonce, wrap[32:], b"")


def wrap(secret, recipient, cloud, zone, epoch):
    if len(recipient) > 1000:
        keys = MLKEM768PublicKey.from_public_bytes(recipient[:1184]), X25519PublicKey.from_public_bytes(recipient[1184:])
        return X_WING.encrypt(secret, hybrid.MLKEM768X25519PublicKey(*keys), epoch_info(cloud, zone, epoch))
    private = X25519PrivateKey.generate()
    cipher, nonce = hpke(private.exchange(X25519PublicKey.from_public_bytes(recipient)), public(private), recipient, epoch_info(cloud, zone, epoch))
    return public(private) + cipher.encrypt(nonce, secret, b"")


# The chain of epochs: each secret is sealed by the one after it.
def chain_info(cloud, zone, epoch): return ("snapsync-previous 1\n%s\n%s\n%d\n" % (cloud, zone, epoch)).encode()


def previous(secret, sealed, cloud, zone, epoch):
    return AESGCM(derive(secret, b"snapsync.previous.1")).decrypt(sealed[:12], sealed[12:], chain_info(cloud, zone, epoch))


def seal_previous(secret, before, cloud, zone, epoch):
    nonce = os.urandom(12)
    return nonce + AESGCM(derive(secret, b"snapsync.previous.1")).encrypt(nonce, before, chain_info(cloud, zone, epoch))


def padded_length(count):
    """Padmé."""
    if count < 2: return count
    exponent = count.bit_length() - 1
    mask = (1 << exponent - exponent.bit_length()) - 1
    return (count + mask) & ~mask


def pad(data): return data + b"\x80" + bytes(padded_length(len(data) + 1) - len(data) - 1)


def unpad(data):
    contents = data.rstrip(b"\0")
    assert contents[-1:] == b"\x80" and pad(contents[:-1]) == data, "not padded as it must be"
    return contents[:-1]


class ZoneKeys:
    """The secrets of a zone's epochs, by number."""

    def __init__(self, secrets, cloud, zone, is_padded=False):
        self.secrets, self.cloud, self.zone, self.is_padded = secrets, cloud, zone, is_padded

    def context(self, epoch, kind, dataset):
        return b"snapsync.box.1\x00" + struct.pack(">I", epoch) + b"".join(t.encode() + b"\x00" for t in (self.cloud, self.zone, kind, dataset))

    def seal(self, data, kind, dataset, epoch=None):
        epoch = epoch or max(self.secrets)
        context, secret = self.context(epoch, kind, dataset), self.secrets[epoch]
        if self.is_padded: data = pad(data)
        name = mac(derive(secret, b"snapsync.id.1"), context + data)
        return struct.pack(">I", epoch) + name + AESGCM(mac(derive(secret, b"snapsync.key.1"), name)).encrypt(bytes(12), data, context)

    def open(self, box, kind, dataset):
        epoch, name = struct.unpack(">I", box[:4])[0], box[4:36]
        context, secret = self.context(epoch, kind, dataset), self.secrets[epoch]
        data = AESGCM(mac(derive(secret, b"snapsync.key.1"), name)).decrypt(bytes(12), box[36:], context)
        assert mac(derive(secret, b"snapsync.id.1"), context + data) == name, "not the contents that the box was made of"
        return unpad(data) if self.is_padded else data

    def shown(self, fields):
        """The assets of a record as the store sees them."""
        named = {a["path"]: dict(a, rawSize=padded_length(a["rawSize"])) if self.is_padded else a for a in assets(fields)}
        return [named[path] for path in sorted(named)]

    def record(self, saved):
        """A record's fields as its publisher meant them."""
        fields = json.loads(self.open(base64.b64decode(saved["fields"]["sealed"]["value"]), "record", saved["name"]))
        assert self.shown(fields) == [a["value"] for a in saved["fields"].get("assets", {"value": []})["value"]]
        return fields

    def seal_record(self, name, type, fields, epoch=None):
        named = self.shown(fields)
        out = {"sealed": {"type": "bytes", "value": base64.b64encode(self.seal(canonical(fields), "record", name, epoch)).decode()}}
        if named: out["assets"] = {"type": "list", "value": [{"type": "asset", "value": asset} for asset in named]}
        return {"name": name, "type": type, "fields": out}

    def message(self, sender, id, body): return json.loads(self.open(base64.b64decode(body["sealed"]), "message", "%s/%s" % (sender, id)))

    def seal_message(self, sender, id, body):
        return {"sealed": base64.b64encode(self.seal(canonical(body), "message", "%s/%s" % (sender, id))).decode()}


def canonical(value): return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def assets(value):
    """Every asset that typed values name, once."""
    found = {}
    def look(v):
        if v["type"] == "asset": found[v["value"]["path"]] = v["value"]
        if v["type"] == "list": [look(one) for one in v["value"]]
    for v in value.values(): look(v)
    return list(found.values())


def commits(zone): return sorted(glob.glob(zone + "/commits/*.json"))


def key_record(zone, number=None):
    """The newest key record up to a commit."""
    for path in reversed(commits(zone)):
        if number and int(os.path.basename(path)[:20]) > number: continue
        for saved in json.load(open(path))["commit"]["saved"]:
            if saved["name"] == "snapshot_keys": return saved
    newest = sorted(glob.glob(zone + "/checkpoints/*.json"))[-1]
    return [r for r in json.load(open(newest))["checkpoint"]["records"] if r["name"] == "snapshot_keys"][0]


def key_name(key):
    """How the key record names a public key."""
    return key.hex() if len(key) == 32 else hashlib.sha256(key).hexdigest()


def secrets(record, seed, cloud, zone):
    """The secrets of all epochs, for the holder of a sealing seed; KeyError if the record is not for it."""
    fields = {name: value["value"] for name, value in record["fields"].items()}
    wraps = {pair["value"][0]["value"]: base64.b64decode(pair["value"][1]["value"]) for pair in fields["wraps"]}
    epoch, is_hybrid = fields["epoch"], len(fields["recovery"]) > 64
    own = seal_key(seed, is_hybrid)
    found = {epoch: unwrap(wraps[key_name(own)], seed, cloud, zone, epoch)}
    for sealed in reversed(fields["previous"]):
        found[epoch - 1] = previous(found[epoch], base64.b64decode(sealed["value"]), cloud, zone, epoch)
        epoch -= 1
    return found


def open_zone(path, seed, number=None):
    cloud, zone = json.load(open(path + "/../../cloud.json"))["uuid"], "/".join(path.rstrip("/").split("/")[-2:])
    is_padded = "padded" in json.load(open(path + "/zone.json"))["features"]
    return ZoneKeys(secrets(key_record(path, number), seed, cloud, zone), cloud, zone, is_padded)


def seed_of(device, keys="keys"): return bytes.fromhex(json.load(open(glob.glob("%s/snapsync/keys/*/*/*/%s.json" % (keys, device))[0]))["sealingSeed"])


def seed_of_words(text):
    """The sealing seed of a recovery code."""
    data = b""
    for word in text.lower().replace("-", " ").split():
        bits = 0
        for place, letter in enumerate(word): bits = bits << (2 if place % 2 else 4) | ("aiou" if place % 2 else "bdfghjklmnprstvz").index(letter)
        data += struct.pack(">H", bits)
    assert len(data) == 36 and data[32:] == hashlib.sha256(b"snapsync-recovery 1\n" + data[:32]).digest()[:4], "not a recovery code"
    return data[:32]
