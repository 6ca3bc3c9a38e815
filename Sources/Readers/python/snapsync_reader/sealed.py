"""Opens the boxes of an encrypted zone, with a member's key file or the recovery code. Needs PyPI's `cryptography`."""
import hashlib
import hmac
import json
import struct

from .errors import Damaged, Locked
from .signatures import unword
from .strict import unbase64

POST_QUANTUM, X25519 = (0x647A, 1, 2), (0x20, 1, 3)


def hkdf(secret, salt, info, length):
    made, block, key = b"", b"", hmac.digest(salt or bytes(32), secret, "sha256")
    while len(made) < length:
        block = hmac.digest(key, block + info + bytes([len(made) // 32 + 1]), "sha256")
        made += block
    return made[:length]


def private_key(text, passphrase):
    """The 32 private bytes of a key file's text or of a recovery code, and whether they are of X-Wing (None: either)."""
    words = text.strip().split("-")
    if len(words) == 18:
        data = b"".join(map(unword, words))
        if hashlib.sha256(b"snapsync-recovery 1\n" + data[:32]).digest()[:4] != data[32:]:
            raise Locked("", "the recovery code has a typing error")
        return data[:32], None
    file = json.loads(text)
    wing = file.get("sealing") == "x-wing"
    if file["formatVersion"] == 1:
        return bytes.fromhex(file["sealingSeed"]), wing
    if passphrase is None:
        raise Locked("", "the key file needs its passphrase")
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    cost = file["scrypt"]
    if cost["n"] not in [1 << power for power in range(14, 21)] or (cost["r"], cost["p"]) != (8, 1):
        raise Locked("", "the key file has other parameters of scrypt than allowed")
    key = hashlib.scrypt(passphrase.encode(), salt=bytes.fromhex(cost["salt"]), n=cost["n"], r=8, p=1, maxmem=1 << 31, dklen=32)
    place = "".join(f"{line}\n" for line in ["snapsync-key-file 2", file["cloud"], file["zone"], file["device"]] + ["x-wing"] * wing)
    keys = unbase64(file["keys"])
    return AESGCM(key).decrypt(keys[:12], keys[12:], place.encode())[32:], wing


class Secrets:
    """The secrets of all epochs that a private key opens."""

    def __init__(self, history, private):
        try:
            from cryptography.hazmat.primitives.ciphers import aead
        except ImportError as error:
            raise Locked(history.zone, "an encrypted zone needs PyPI's cryptography") from error
        self.aead, self.history = aead, history
        self.wing, self.padded = "post-quantum" in history.features, "padded" in history.features
        if private[1] not in (None, self.wing):
            raise Locked(history.zone, "the key is of another kind than the zone's")
        self.private, self.secrets = private[0], {}

    def _shared(self, wrap):
        """The shared secret of HPKE's key encapsulation, and the length of the encapsulated key."""
        from cryptography.hazmat.primitives.asymmetric import x25519
        if self.wing:
            from cryptography.hazmat.primitives.asymmetric import mlkem
            seeds = hashlib.shake_256(self.private).digest(96)
            secret = x25519.X25519PrivateKey.from_private_bytes(seeds[64:])
            lattice = mlkem.MLKEM768PrivateKey.from_seed_bytes(seeds[:64])
            self.public = lattice.public_key().public_bytes_raw() + secret.public_key().public_bytes_raw()
            if wrap is None:
                return None
            one = lattice.decapsulate(wrap[:1088])
            two = secret.exchange(x25519.X25519PublicKey.from_public_bytes(wrap[1088:1120]))
            return hashlib.sha3_256(one + two + wrap[1088:1120] + self.public[1184:] + b"\\.//^\\").digest(), 1120
        secret = x25519.X25519PrivateKey.from_private_bytes(self.private)
        self.public = secret.public_key().public_bytes_raw()
        if wrap is None:
            return None
        shared = secret.exchange(x25519.X25519PublicKey.from_public_bytes(wrap[:32]))
        suite, label = b"KEM" + struct.pack(">H", 0x20), lambda name: b"HPKE-v1" + suite + name
        key = hmac.digest(bytes(32), label(b"eae_prk") + shared, "sha256")
        info = struct.pack(">H", 32) + label(b"shared_secret") + wrap[:32] + self.public
        return hmac.digest(key, info + b"\1", "sha256"), 32

    def _unwrap(self, wrap, epoch):
        shared, length = self._shared(wrap)
        ids = POST_QUANTUM if self.wing else X25519
        suite = b"HPKE" + struct.pack(">HHH", *ids)

        def extract(salt, name, data):
            return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + name + data, "sha256")

        def expand(key, name, context, size):
            return hmac.digest(key, struct.pack(">H", size) + b"HPKE-v1" + suite + name + context + b"\1", "sha256")[:size]

        info = f"snapsync-epoch 1\n{self.history.cloud}\n{self.history.zone}\n{epoch}\n".encode()
        context = b"\0" + extract(b"", b"psk_id_hash", b"") + extract(b"", b"info_hash", info)
        secret = extract(shared, b"secret", b"")
        cipher = (self.aead.AESGCM if self.wing else self.aead.ChaCha20Poly1305)(expand(secret, b"key", context, 32))
        return cipher.decrypt(expand(secret, b"base_nonce", context, 12), wrap[length:], b"")

    def take(self, record):
        """Learns the secrets of the record `snapshot_keys`. Returns whether it has a wrap for the private key."""
        fields = {name: field["value"] for name, field in record["fields"].items()}
        self._shared(None)
        name = hashlib.sha256(self.public).hexdigest() if self.wing else self.public.hex()
        for wrap in fields["wraps"]:
            if wrap["value"][0]["value"] != name:
                continue
            epoch = fields["epoch"]
            try:
                secret = self._unwrap(unbase64(wrap["value"][1]["value"]), epoch)
                self.secrets[epoch] = secret
                for element in reversed(fields.get("previous", [])):
                    data = unbase64(element["value"])
                    place = f"snapsync-previous 1\n{self.history.cloud}\n{self.history.zone}\n{epoch}\n".encode()
                    secret = self.aead.AESGCM(hkdf(secret, b"", b"snapsync.previous.1", 32)).decrypt(data[:12], data[12:], place)
                    epoch -= 1
                    self.secrets[epoch] = secret
            except Exception as error:
                raise Damaged(f"{self.history.zone}: snapshot_keys", f"the keys of epoch {epoch} do not open: {error!r}") from error
            return True
        return False

    def open(self, box, kind, dataset, path):
        """The contents of a box."""
        epoch, identity = int.from_bytes(box[:4], "big"), box[4:36]
        secret = self.secrets.get(epoch)
        if len(box) < 52:
            raise Damaged(path, "shorter than a box")
        if secret is None:
            raise Locked(path, f"no key of epoch {epoch}")
        place = (self.history.cloud, self.history.zone, kind, dataset)
        context = b"snapsync.box.1\0" + box[:4] + b"".join(part.encode() + b"\0" for part in place)
        try:
            key = hmac.digest(hkdf(secret, b"", b"snapsync.key.1", 32), identity, "sha256")
            contents = self.aead.AESGCM(key).decrypt(bytes(12), box[36:], context)
        except Exception as error:
            raise Damaged(path, "a box does not open") from error
        if hmac.digest(hkdf(secret, b"", b"snapsync.id.1", 32), context + contents, "sha256") != identity:
            raise Damaged(path, "a box has another id than its contents")
        if not self.padded:
            return contents
        inside = contents.rstrip(b"\0")
        if inside[-1:] != b"\x80" or padded(len(inside)) != len(contents):
            raise Damaged(path, "a box is not padded as it must be")
        return inside[:-1]


def padded(length):
    """The next length that Padmé allows."""
    if length < 2:
        return length
    power = length.bit_length() - 1
    zeros = power - power.bit_length()
    return -(-length >> zeros) << zeros if zeros > 0 else length
