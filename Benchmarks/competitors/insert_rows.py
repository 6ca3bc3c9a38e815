"""usage: insert_rows.py SOURCE DATABASE: inserts all notifications of one database into another, row by row in one transaction, and prints the seconds it took."""
import sqlite3, sys, time

source, target = sys.argv[1:]
rows = sqlite3.connect(source).execute("SELECT * FROM notifications").fetchall()
connection = sqlite3.connect(target, isolation_level=None)
begin = time.monotonic()
connection.execute("BEGIN IMMEDIATE")
connection.executemany(f"INSERT INTO notifications VALUES({', '.join('?' * len(rows[0]))})", rows)
connection.execute("COMMIT")
print(time.monotonic() - begin)
