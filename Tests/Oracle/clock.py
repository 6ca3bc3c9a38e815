"""Virtual time: each step of a history has a moment, each device an offset from it, and each process a clock that stands still.

A moment is a whole number of microseconds after the history's base, which lies an hour before the history is run: the directory's own clock is
the system's, and devices that are more than a day away from it do not publish.
"""
import datetime
import os
import re
import subprocess

import values

HERE = os.path.dirname(os.path.abspath(__file__))
SECOND = 1_000_000
HOUR = 3600 * SECOND

# A time in a statement: @{moment:form}. It becomes text when the statement is run, so that a history can be run at any time.
TOKEN = re.compile(r"@\{(-?\d+):(\w+)\}")
FORMS = ("seconds", "millis", "micros", "east", "west")


def build(folder):
    """Compiles the shim for LD_PRELOAD and returns its path."""
    target = os.path.join(folder, "clock.so")
    for compiler in ("cc", "clang", "gcc"):
        try:
            subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", target, os.path.join(HERE, "clock.c")], check=True)
            return target
        except FileNotFoundError:
            continue
    raise SystemExit("oracle: no C compiler (cc, clang or gcc) for clock.c; hint: install one")


def text(micros, form):
    """An RFC 3339 text of a time in microseconds since 1970, cut to what the form shows; or a number: `integer_` or `real_` and its unit."""
    storage, _, unit = form.partition("_")
    if unit:
        return values.number(micros, unit, storage == "real")
    zone = {"east": datetime.timezone(datetime.timedelta(hours=2)), "west": datetime.timezone(-datetime.timedelta(hours=5, minutes=30))}.get(
        form, datetime.timezone.utc)
    moment = datetime.datetime.fromtimestamp(micros // SECOND, zone).replace(microsecond=micros % SECOND)
    if form in ("seconds", "west"):
        shown = moment.isoformat(timespec="seconds")
    elif form == "micros":
        shown = moment.isoformat(timespec="microseconds")
    else:
        shown = moment.isoformat(timespec="milliseconds")
    return shown.replace("+00:00", "Z")


def expand(sql, base):
    return TOKEN.sub(lambda match: text(base + int(match.group(1)), match.group(2)), sql)


RFC3339 = re.compile(r"^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:([Zz])|([+-])(\d\d):(\d\d))$")


def instant(value, unit=None):
    """The earliest and the latest time that a timestamp column may say, in microseconds since 1970; None where it says none."""
    if unit:
        return values.instant(value, unit)
    match = RFC3339.match(value) if isinstance(value, str) else None
    if not match:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    try:
        moment = datetime.datetime(year, month, day, hour, minute, second, tzinfo=datetime.timezone.utc)
    except ValueError:
        return None
    micros = int((moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)).total_seconds()) * SECOND
    micros += int(((match.group(7) or "") + "000000")[:6])
    if match.group(9):
        offset = (int(match.group(10)) * 60 + int(match.group(11))) * 60 * SECOND
        micros -= offset if match.group(9) == "+" else -offset
    return micros, micros
