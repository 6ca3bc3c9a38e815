"""Strict JSON, instants and numbers as the format writes them."""
import base64
import datetime
import json
import re

INSTANT = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})\.([0-9]{3})([0-9]{3})?Z")
SURROGATE = re.compile("[\ud800-\udfff]")
MINIMUM, MAXIMUM = -(1 << 63), (1 << 63) - 1


def unique(pairs):
    """An object's pairs as a dictionary. A name that occurs twice is refused."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key occurs twice in an object")
    return made


def refuse(text):
    raise ValueError(f"{text} is not JSON")


def integer(text):
    """The number of decimal digits, within 64 bits."""
    value = int(text) if len(text) <= 20 else MAXIMUM + 1
    if text == "-0" or not MINIMUM <= value <= MAXIMUM:
        raise ValueError("an integer is -0 or beyond 64 bits")
    return value


def real(text):
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError("a number is out of range")
    return value


def depth(text):
    """How many arrays and objects are nested in a JSON text."""
    now = most = 0
    for sign in re.findall(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', text, re.DOTALL):
        now += (sign in "[{") - (sign in "]}") if len(sign) == 1 else 0
        most = max(most, now)
    return most


DOCUMENT = json.JSONDecoder(object_pairs_hook=unique, parse_int=integer, parse_float=real, parse_constant=refuse)


def load(data, levels=64):
    """Parses a control document: no key twice, no lone surrogate, nothing after the end, at most 64 levels. Raises ValueError."""
    text = data.decode("utf-8")
    if text[:1] == "\ufeff" or (text.count("[") + text.count("{") > levels and depth(text) > levels):
        raise ValueError("a byte order mark, or too many levels")
    value = DOCUMENT.decode(text)
    if "\\ud" in text.lower() and SURROGATE.search(json.dumps(value, ensure_ascii=False)):
        raise ValueError("a lone surrogate")
    return value


def instant(text):
    """The microseconds since year 1 of an instant in the one form that the format writes."""
    found = INSTANT.fullmatch(text) if isinstance(text, str) else None
    if not found or found[8] == "000":
        raise ValueError(f"{text!r} is not an instant")
    fraction = int(found[7]) * 1000 + int(found[8] or 0)
    moment = datetime.datetime(*(int(found[i]) for i in range(1, 7)), fraction)
    return (moment - datetime.datetime.min) // datetime.timedelta(microseconds=1)


def unbase64(text):
    """The bytes of canonical base64: padded, without line breaks, unused bits zero."""
    data = base64.b64decode(text, validate=True)
    if base64.b64encode(data).decode() != text:
        raise ValueError("not canonical base64")
    return data


def real_text(value):
    """The shortest text of a finite double, as canonical entities have it."""
    mantissa, _, exponent = repr(value).partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    fraction = "" if fraction == "0" else fraction
    point = len(whole) + int(exponent or 0)
    digits = (whole + fraction).lstrip("0")
    point -= len(whole + fraction) - len(digits)
    digits = digits.rstrip("0")
    if not digits:
        return sign + "0.0"
    if 0.0001 <= abs(value) <= 9007199254740992:
        if point <= 0:
            return f"{sign}0.{'0' * -point}{digits}"
        return f"{sign}{digits[:point].ljust(point, '0')}.{digits[point:] or '0'}"
    return f"{sign}{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{'-' if point < 1 else '+'}{abs(point - 1):02}"
