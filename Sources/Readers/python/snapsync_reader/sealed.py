"""Opens the boxes of an encrypted zone, with a member's key file or the recovery code. Needs PyPI's `cryptography`."""
import hashlib
import hmac
import json
import struct

from .files import Damaged, Locked, checked, need
from .history import unword
from .rows import unbase64


def hkdf(secret, info):
    """32 bytes of HKDF-SHA256 without a salt."""
    return hmac.digest(hmac.digest(bytes(32), secret, "sha256"), info + b"\1", "sha256")


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
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    cost = file["scrypt"]
    if cost["n"] not in [1 << power for power in range(14, 21)] or (cost["r"], cost["p"]) != (8, 1):
        raise Locked("", "the key file has other parameters of scrypt than allowed")
    key = hashlib.scrypt(passphrase.encode(), salt=bytes.fromhex(cost["salt"]), n=cost["n"], r=8, p=1, maxmem=(1 << 31) - 1, dklen=32)
    place = "".join(f"{line}\n" for line in ["snapsync-key-file 2", file["cloud"], file["zone"], file["device"]] + ["x-wing"] * wing)
    keys = unbase64(file["keys"])
    try:
        return AESGCM(key).decrypt(keys[:12], keys[12:], place.encode())[32:], wing
    except InvalidTag as error:
        raise Locked("", "the passphrase is another one") from error


class Secrets:
    """The secrets of all epochs that a private key opens."""

    def __init__(self, history, private):
        try:
            from cryptography.exceptions import InvalidTag
            from cryptography.hazmat.primitives.ciphers import aead
        except ImportError as error:
            raise Locked(history.zone, "an encrypted zone needs PyPI's cryptography") from error
        self.aead, self.invalid, self.history, self.secrets, (self.private, wing) = aead, (InvalidTag, ValueError), history, {}, private
        self.wing, self.padded = "post-quantum" in history.features, "padded" in history.features
        if wing not in (None, self.wing):
            raise Locked(history.zone, "the key is of another kind than the zone's")

    def _public(self):
        """The public key, and with X-Wing the private keys of both parts."""
        from cryptography.hazmat.primitives.asymmetric import x25519
        lattice, self.public, seed = None, b"", self.private
        if self.wing:
            from cryptography.hazmat.primitives.asymmetric import mlkem
            seeds = hashlib.shake_256(self.private).digest(96)
            lattice, seed = mlkem.MLKEM768PrivateKey.from_seed_bytes(seeds[:64]), seeds[64:]
            self.public = lattice.public_key().public_bytes_raw()
        secret = x25519.X25519PrivateKey.from_private_bytes(seed)
        self.public += secret.public_key().public_bytes_raw()
        return lambda key: secret.exchange(x25519.X25519PublicKey.from_public_bytes(key)), lattice

    def _unwrap(self, wrap, epoch):
        """The secret of an epoch, which HPKE in base mode has encrypted for the public key."""
        exchange, lattice = self._public()
        size, ids = (1120, (0x647A, 1, 2)) if self.wing else (32, (0x20, 1, 3))
        encapsulated, suite = wrap[:size], b"HPKE" + struct.pack(">HHH", *ids)

        def extract(salt, name, data, suite=suite):
            return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + name + data, "sha256")

        def expand(key, name, context, size, suite=suite):
            return hmac.digest(key, struct.pack(">H", size) + b"HPKE-v1" + suite + name + context + b"\1", "sha256")[:size]

        if self.wing:
            part = encapsulated[1088:]
            shared = hashlib.sha3_256(lattice.decapsulate(wrap[:1088]) + exchange(part) + part + self.public[1184:] + b"\\.//^\\").digest()
        else:
            kem = b"KEM" + struct.pack(">H", 0x20)
            shared = expand(extract(b"", b"eae_prk", exchange(encapsulated), kem), b"shared_secret", encapsulated + self.public, 32, kem)
        info = f"snapsync-epoch 1\n{self.history.cloud}\n{self.history.zone}\n{epoch}\n".encode()
        context = b"\0" + extract(b"", b"psk_id_hash", b"") + extract(b"", b"info_hash", info)
        secret = extract(shared, b"secret", b"")
        cipher = (self.aead.AESGCM if self.wing else self.aead.ChaCha20Poly1305)(expand(secret, b"key", context, 32))
        return cipher.decrypt(expand(secret, b"base_nonce", context, 12), wrap[size:], b"")

    def take(self, record):
        """Learns the secrets of the record `snapshot_keys`. Returns whether it has a wrap for the private key."""
        self._public()
        with checked(f"{self.history.zone}: record snapshot_keys"):
            fields = {name: field["value"] for name, field in record["fields"].items()}
            name, epoch = hashlib.sha256(self.public).hexdigest() if self.wing else self.public.hex(), fields["epoch"]
            wraps = [wrap["value"][1]["value"] for wrap in fields["wraps"] if wrap["value"][0]["value"] == name]
            if not wraps:
                return False
            try:
                secret = self.secrets[epoch] = self._unwrap(unbase64(wraps[0]), epoch)
                for element in reversed(fields.get("previous", [])):
                    data, place = unbase64(element["value"]), f"snapsync-previous 1\n{self.history.cloud}\n{self.history.zone}\n{epoch}\n"
                    key, epoch = hkdf(secret, b"snapsync.previous.1"), epoch - 1
                    secret = self.secrets[epoch] = self.aead.AESGCM(key).decrypt(data[:12], data[12:], place.encode())
            except self.invalid as error:
                raise ValueError(f"the keys of epoch {epoch} do not open") from error
            return True

    def open(self, box, kind, dataset, path):
        """The contents of a box."""
        secret, identity = self.secrets.get(int.from_bytes(box[:4], "big")), box[4:36]
        if secret is None:
            raise Locked(path, "no key of the epoch that the box names")
        context = b"snapsync.box.1\0" + box[:4]
        context += b"".join(part.encode() + b"\0" for part in (self.history.cloud, self.history.zone, kind, dataset))
        with checked(path, "the box"):
            try:
                key = hmac.digest(hkdf(secret, b"snapsync.key.1"), identity, "sha256")
                contents = self.aead.AESGCM(key).decrypt(bytes(12), box[36:], context)
            except self.invalid as error:
                raise ValueError("it does not open") from error
            need(hmac.digest(hkdf(secret, b"snapsync.id.1"), context + contents, "sha256") == identity, "another id than its contents")
            inside = contents.rstrip(b"\0")
            need(not self.padded or (inside[-1:] == b"\x80" and padded(len(inside)) == len(contents)), "not padded as it must be")
            return inside[:-1] if self.padded else contents


def padded(length):
    """The next length that Padmé allows."""
    if length < 2:
        return length
    power = length.bit_length() - 1
    zeros = power - power.bit_length()
    return -(-length >> zeros) << zeros if zeros > 0 else length
