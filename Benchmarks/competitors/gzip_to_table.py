"""usage: gzip_to_table.py FILE.json.gz DATABASE: all notifications deleted and the container's inserted, in one transaction (orjson, isal)."""
import sqlite3, sys

import orjson
from isal import igzip

PLAIN = ("id", "title", "subtitle", "body", "readAt", "sentAt", "createdAt", "updatedAt", "bucketId")
NESTED = ("attachments", "actions", "tapAction")


def main(source, database):
    with igzip.open(source, "rb") as file:
        entities = orjson.loads(file.read())["notifications"]
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("DELETE FROM notifications")
    names = ", ".join(PLAIN + NESTED)
    marks = ", ".join("?" * len(PLAIN + NESTED))
    connection.executemany(
        f"INSERT INTO notifications({names}) VALUES({marks})",
        ([e.get(n) for n in PLAIN] + [orjson.dumps(e[n]).decode() if n in e else None for n in NESTED] for e in entities),
    )
    connection.execute("COMMIT")


main(*sys.argv[1:])
