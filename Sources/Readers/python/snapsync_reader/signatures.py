"""The members of a signed zone, and what they have signed. Uses PyPI's `cryptography`; without it nothing is verified."""
import hashlib

from .strict import instant

CONSONANTS, VOWELS = "bdfghjklmnprstvz", "aiou"
PUBLISH = ("writer", "peer")


def available():
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
        return ed25519
    except ImportError:
        return None


def word(number):
    """16 bits as a word."""
    letters = (CONSONANTS, number >> 12), (VOWELS, number >> 10 & 3), (CONSONANTS, number >> 6 & 15), (VOWELS, number >> 4 & 3), (CONSONANTS, number & 15)
    return "".join(alphabet[index] for alphabet, index in letters)


def unword(text):
    """The 2 bytes of a word. Raises ValueError."""
    if len(text) != 5:
        raise ValueError(f"{text} is not a word of a code")
    number = 0
    for place, letter in enumerate(text):
        alphabet, bits = (VOWELS, 2) if place % 2 else (CONSONANTS, 4)
        number = number << bits | alphabet.index(letter)
    return number.to_bytes(2, "big")


def fingerprint(key, seal_key):
    """The eight words of a device's public keys."""
    data = hashlib.sha256(b"snapsync-key 1\n" + bytes.fromhex(key) + bytes.fromhex(seal_key)).digest()
    return "-".join(word(int.from_bytes(data[i:i + 2], "big")) for i in range(0, 16, 2))


def verify(key, kind, body, signature):
    ed25519 = available()
    if ed25519:
        from cryptography.exceptions import InvalidSignature
        try:
            ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(signature, f"snapsync-{kind} 1\n".encode() + body)
        except InvalidSignature as error:
            raise ValueError("the signature is not valid") from error


class Members:
    """A checked list of members. Raises ValueError."""

    def __init__(self, statements, cloud, zone, trust):
        from .history import need, unwrap
        self.statements, members, parent = statements, {}, None
        need(0 < len(statements) <= 4096, "the number of statements")
        for number, text in enumerate(statements, 1):
            data = text.encode()
            body, signed, signature = unwrap(data, "statement", True)
            need(body["number"] == number and body.get("parent") == parent, "a statement does not follow the one before")
            need(body["cloud"] == cloud and body["zone"] == zone, "a statement of another place")
            instant(body["clock"])
            action, device = body["action"], body["device"]
            need((action == "create") == (number == 1), "who created the zone")
            if number == 1:
                need(body["by"] == device, "who created the zone")
                self.creator = fingerprint(body["key"], body["sealKey"])
                need(trust is None or trust == self.creator, f"the creator is {self.creator}")
            author = body["key"] if number == 1 else members[body["by"]]["key"]
            need(number == 1 or members[body["by"]]["role"] in PUBLISH, "who may change the list")
            verify(author, "statement", signed, signature)
            if action in ("create", "add"):
                need(device not in members and body["key"] not in [m["key"] for m in members.values()], "a name or a key twice")
                members[device] = {"key": body["key"], "role": body["role"]}
            elif action == "role":
                members[device] = dict(members[device], role=body["role"])
            else:
                need(action == "remove", "an unknown action")
                del members[device]
            need(all(m["role"] in ("writer", "peer", "reader", "observer") for m in members.values()), "a role")
            need(any(m["role"] in PUBLISH for m in members.values()), "no member is left that publishes")
            parent = hashlib.sha256(data).hexdigest()
        self.members = members

    def follows(self, earlier):
        return self.statements[:len(earlier.statements)] == earlier.statements

    def check_commit(self, body, signed, signature):
        member = self.members.get(body["device"])
        if not member or member["key"] != body["key"] or member["role"] not in PUBLISH:
            raise ValueError(f"{body['device']} with this key may not publish")
        verify(body["key"], "commit", signed, signature)
