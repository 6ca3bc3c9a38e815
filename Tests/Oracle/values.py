"""Values as SQLite keeps them, and keys as it compares them: docs/datasets.md and docs/format.md, "Keys"."""
import json
import struct
from fractions import Fraction


class Real(float):
    """A value of the storage class REAL, which no INTEGER equals, and of which every bit counts."""

    def __eq__(self, other):
        return isinstance(other, float) and struct.pack("d", self) == struct.pack("d", other)

    def __ne__(self, other):
        return not self == other

    __hash__ = float.__hash__


def canonical(row):
    """A row whose real numbers are told from integers."""
    return None if row is None else tuple(Real(value) if isinstance(value, float) else value for value in row)


def folded(value, collation):
    """A value of a key as its column compares it."""
    if isinstance(value, float):
        # 1 and 1.0 are one key; -0.0 is 0.
        return int(value) if value == value // 1 and abs(value) < 2 ** 63 else float(value)
    if isinstance(value, str) and collation == "nocase":
        return "".join(letter.lower() if "A" <= letter <= "Z" else letter for letter in value)
    if isinstance(value, str) and collation == "rtrim":
        return value.rstrip(" ")
    return value


def order(key):
    """The order of keys in a container. A key of one text or integer column is its value, any other a tuple."""
    def part(value):
        if isinstance(value, str):
            return (1, value.encode())
        return (2, value) if isinstance(value, bytes) else (0, value)
    return tuple(part(value) for value in (key if isinstance(key, tuple) else (key,)))


def told_key(text, key):
    """A key of a report in the model's terms, if it is one like `key`."""
    if not isinstance(key, tuple):
        return text
    if isinstance(text, str):
        return (int(text) if isinstance(key[0], int) else text,)
    import base64
    return tuple(base64.b64decode(value["base64"]) if isinstance(value, dict) else value for value in text)


def loaded(text):
    return json.loads(text, parse_float=Real)


EPOCHS = {"seconds": (10 ** 6, 0), "milliseconds": (10 ** 3, 0), "microseconds": (1, 0), "apple": (10 ** 6, 978_307_200 * 10 ** 6),
          "julian": (86_400 * 10 ** 6, -Fraction(24405875, 10) * 86_400 * 10 ** 6)}
YEARS = (-62_135_596_800 * 10 ** 6, 253_402_300_800 * 10 ** 6)


def instant(value, unit):
    """The earliest and latest time that a number of a timestamp column says, in microseconds since 1970; None where it says none."""
    if value is None or isinstance(value, (str, bytes)) or value in (float("inf"), float("-inf")):
        return None
    factor, epoch = EPOCHS[unit]
    exact = Fraction(value) * factor + epoch
    if not YEARS[0] <= exact < YEARS[1]:
        return None
    if isinstance(value, int):
        return int(exact), int(exact)
    slack = 40 if unit == "julian" else 0
    return exact.__floor__() - slack, exact.__ceil__() + slack


def number(micros, unit, real):
    """The number of a unit that says a time, as SQL."""
    factor, epoch = EPOCHS[unit]
    exact = Fraction(micros - epoch) / factor
    return repr(float(exact)) if real else str(exact.__floor__())
