#!/usr/bin/env python3
"""Cuts the connection between the command and a real object store (SeaweedFS) at every byte of every request and answer of a sync, one at a time.

usage: cut_bucket.py SNAPSYNC [--step N [--part K]] [--device phone|watch] [--seed N]

The syncs: a writer that publishes an edit, and a reader that imports one. After each cut the run ends with 0 or 75, the next runs with 0, the edit is
published once, and writer and reader are equal. With --step N one byte of N is tried, another one for each request; with --part K those that leave K when
divided by N, so that N processes with a part each try every byte.
Ends with 77 where the store cannot be installed.
"""
import argparse, json, os, random, sqlite3, subprocess, sys, tempfile, time

sys.dont_write_bytecode = True

from bucket_scene import KEYS, Server
import s3


class Devices:
    """A writer and a reader of a cloud behind the proxy."""

    def __init__(self, folder, command, store, bucket, prefix):
        self.folder, self.command, self.version = folder, command, 1
        self.plan = os.path.join(folder, "plan-folder")
        os.makedirs(self.plan)
        self.proxy = Server("faulty_proxy.py", store.endpoint, self.plan)
        self.environment = dict(os.environ, **KEYS)
        place = "s3://%s/%s?endpoint=%s" % (bucket.name, prefix, self.proxy.endpoint)
        self.succeed("generate", "phone.db", "--notifications", "5", "--buckets", "2")
        self.succeed("init", "phone.db", place, "--built-in", "--name", "phone")
        self.succeed("sync", "phone.db")
        self.succeed("join", "watch.db", place, "--name", "watch")
        self.succeed("sync", "watch.db")

    def run(self, *words):
        return subprocess.run([self.command + ("-examples" if words[0] == "generate" else ""), *words], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def succeed(self, *words):
        done = self.run(*words)
        if done.returncode:
            raise AssertionError("%s: %d %s" % (" ".join(words), done.returncode, done.stderr))
        return done.stdout

    def rows(self, name):
        with sqlite3.connect(os.path.join(self.folder, name)) as database:
            return [database.execute("SELECT * FROM %s ORDER BY 1" % table).fetchall() for table in ("buckets", "notifications")]

    def edit(self):
        with sqlite3.connect(os.path.join(self.folder, "phone.db")) as database:
            database.execute("UPDATE buckets SET name = ? WHERE id = (SELECT min(id) FROM buckets)", ("edit %d" % self.version,))
        self.version += 1

    def spoiled(self, device, request, fault):
        """Runs a sync whose request of that number has the fault. Returns its exit code, how many requests came, and the length of what was cut."""
        plan = os.path.join(self.plan, "plan")
        cut = os.path.join(self.plan, "cut")
        if os.path.exists(cut):
            os.remove(cut)
        with open(plan + ".new", "w") as file:
            file.write("%d %d %s" % (time.monotonic_ns(), request, fault))
        os.replace(plan + ".new", plan)
        done = self.run("sync", device + ".db")
        os.remove(plan)
        with open(os.path.join(self.plan, "seen")) as file:
            seen = int(file.read())
        length = int(open(cut).read()) if os.path.exists(cut) else None
        return done, seen, length

    def case(self, device, request, fault):
        """Edits, syncs with the fault, and judges. Returns how many requests came and the length of what was cut."""
        self.edit()
        if device == "watch":
            self.succeed("sync", "phone.db")
        done, seen, length = self.spoiled(device, request, fault)
        name = "%s, request %d, %s" % (device, request, fault)
        if done.returncode not in (0, 75):
            raise AssertionError("%s: %d %s" % (name, done.returncode, done.stderr))
        self.succeed("sync", "phone.db")
        self.succeed("sync", "watch.db")
        if self.rows("phone.db") != self.rows("watch.db"):
            raise AssertionError(name + ": writer and reader differ")
        newest = json.loads(self.succeed("sync", "phone.db", "--json"))["exported"]["version"]
        if newest != self.version:
            raise AssertionError("%s: version %s, not %d" % (name, newest, self.version))
        return seen, length


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command")
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--part", type=int)
    parser.add_argument("--device", choices=["phone", "watch"])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, "store"))
        store = Server("seaweedfs.py", os.path.join(folder, "store"))
        bucket = s3.Bucket(store.endpoint, "cuts")
        bucket.make()
        try:
            home = os.path.join(folder, "devices")
            os.makedirs(home)
            devices = Devices(home, os.path.abspath(options.command), store, bucket, "app")
            for device in [options.device] if options.device else ["phone", "watch"]:
                request = 1
                while True:
                    # Past the last one nothing is spoiled.
                    seen, _ = devices.case(device, request, "late")
                    if seen < request:
                        break
                    for kind in ("request-cut", "answer-cut"):
                        _, length = devices.case(device, request, kind + "@0")
                        done = 1
                        first = draw.randrange(options.step) if options.part is None else options.part
                        for position in range(first or options.step, (length or 1), options.step):
                            devices.case(device, request, "%s@%d" % (kind, position))
                            done += 1
                        count += done
                        print("%s, request %d, %s: %s bytes, %d positions" % (device, request, kind, length, done), flush=True)
                    request += 1
            print(devices.succeed("check", "watch.db", "--all-versions", "--local").strip().splitlines()[-1])
        finally:
            devices.proxy.end()
            store.end()
    print("%d cuts, no problem" % count)


if __name__ == "__main__":
    main()
