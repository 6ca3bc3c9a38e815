"""python -m snapsync_reader LOCATION [versions|tables|rows TABLE|csv TABLE|sqlite FILE] [--at N]"""
import argparse
import os
import sys

from . import Zone, ZoneError
from .export import json_row


def main():
    parser = argparse.ArgumentParser(prog="snapsync_reader", description="Read a SnapshotSync zone.")
    parser.add_argument("location", metavar="LOCATION", help="a cloud directory, a zone in it, or its http(s) address")
    parser.add_argument("action", nargs="?", default="tables", choices=["versions", "tables", "rows", "held", "csv", "sqlite"])
    parser.add_argument("name", nargs="?", metavar="TABLE|FILE")
    parser.add_argument("--at", type=int, metavar="N", help="the version, by default the newest")
    parser.add_argument("--zone", default="private/main", help="default: %(default)s")
    parser.add_argument("--trust", metavar="WORDS", help="the fingerprint of the device that made a signed zone")
    parser.add_argument("--untyped", action="store_true", help="with sqlite: columns without declared types, which keep every value")
    parser.add_argument("--key", metavar="FILE", help="a file with the keys of a member, or with the recovery code, of an encrypted zone")
    parser.add_argument("--passphrase", metavar="FILE", help="a file with the passphrase of the key file")
    options = parser.parse_args()
    if (options.name is None) != (options.action in ("versions", "tables")):
        parser.error(f"{options.action}: a table or a file is needed, except for versions and tables")
    secrets = []
    for file in (options.key, options.passphrase):
        with open(file or os.devnull, encoding="utf-8") as opened:
            secrets.append(opened.read().strip("\r\n") or None)
    try:
        zone = Zone(options.location, options.zone, options.trust, *secrets)
        if zone.signatures == "not verified":
            print("snapsync_reader: signatures were not verified: PyPI's cryptography is not installed", file=sys.stderr)
        run(zone, options)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except (ZoneError, OSError, ValueError) as error:
        print(f"snapsync_reader: {error}", file=sys.stderr)
        return 1
    return 0


def run(zone, options):
    if options.action == "versions":
        for version in zone.versions():
            print(*(str(part) for part in version.values() if part))
        return
    version = zone.version(options.at)
    if options.action == "tables":
        for name in version.tables():
            print(f"{name}\t{version.table(name).count}")
    elif options.action in ("rows", "held"):
        for row in version.rows(options.name) if options.action == "rows" else version.held(options.name):
            print(json_row(row))
    elif options.action == "csv":
        version.write_csv(options.name, sys.stdout)
    else:
        version.write_sqlite(options.name, not options.untyped)


if __name__ == "__main__":
    sys.exit(main())
