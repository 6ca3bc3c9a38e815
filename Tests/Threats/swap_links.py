#!/usr/bin/env python3
"""Exchanges a folder of the cloud for a link to another one and back, thousands of times while a command runs: what is checked and what is opened must be one.

usage: swap_links.py SNAPSYNC SEED RUNS [--without-openat2]

The other folder is outside of the cloud. It has a forged zone, which adds rows: a version, a message, and reports. Whatever the command ends with, it must write, change and
remove no file there, and take no row from there. With --without-openat2, as on kernels before 5.6 (by strace), a path is opened part by part.
"""
import argparse, collections, copy, ctypes, os, random, shutil, signal, sqlite3, sys, tempfile, time

from forge_zones import CODES, Scene, heed_alarms
from zone import Zone

EXCHANGE, HERE = 2, -100
PLACES = ["commits", "assets", "assets/notes_data", "messages", "messages/phone", "devices", "devices/desk", "devices/phone", "checkpoints", "."]
LINES = ["sync desk.db", "sync phone.db", "sync fresh.db", "export desk.db --full", "prune desk.db --keep-last 1", "pin desk.db 1", "check cloud --read-data", "repair cloud"]
CALL = ctypes.CDLL(None, use_errno=True)


def exchange(one, other): return CALL.renameat2(HERE, one.encode(), HERE, other.encode(), EXCHANGE)


def base(path, command):
    scene = Scene(path, command)
    for name in ("home", "keys", "temporary"): os.makedirs(scene.place(name))
    scene.sql("desk.db", "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, title TEXT); INSERT INTO notes VALUES('n1', 'One'), ('n2', 'Two')")
    scene.succeed("init desk.db cloud --name desk --reader-edits all")
    scene.succeed("sync desk.db")
    for name in ("phone", "fresh"): scene.succeed("join %s.db cloud --name %s" % (name, name))
    scene.succeed("sync phone.db")
    scene.sql("phone.db", "UPDATE notes SET title = 'by the reader' WHERE id = 'n2'")
    scene.succeed("sync phone.db")
    for round in range(3):
        scene.sql("desk.db", "UPDATE notes SET title = 'Round %d' WHERE id = 'n1'" % round)
        scene.succeed("export desk.db")
    scene.sql("desk.db", "UPDATE notes SET title = 'Next' WHERE id = 'n1'")
    scene.sql("phone.db", "UPDATE notes SET title = 'by the reader again' WHERE id = 'n2'")
    # Old enough to be pruned.
    then = time.time() - 3 * 86400
    for folder, _, names in os.walk(scene.place("cloud")):
        for name in names: os.utime(os.path.join(folder, name), (then, then))
    shutil.copytree(scene.zone, scene.place("outside"))
    lure = Zone(scene.zone)
    lure.path = scene.place("outside", "private", "main")
    os.makedirs(scene.place("outside", "private"))
    for name in os.listdir(scene.place("outside")):
        if name != "private":
            os.makedirs(lure.path, exist_ok=True)
            os.rename(scene.place("outside", name), os.path.join(lure.path, name))
    asset = lure.asset(lure.record("notes_data"))
    newest = lure.append("desk")
    newest["saved"] = [lure.record("notes_data", newest)]
    new = copy.deepcopy(asset)
    new.stem = "assets/notes_data/%020d-%08x" % (newest["number"], 1)
    new.entities.append(dict(id="lure", title="lure"))
    lure.assets[new.path] = new
    newest["saved"][0]["fields"]["dataFile"]["value"]["path"] = new.path
    number = 2 * 10**15
    message = dict(body=dict(device="phone", edits=[dict(at="2026-11-28T18:21:44.801Z", born="2026-11-28T18:21:44.801Z", dataset="notes", id="lure", number=number, row='{"id":"lure","title":"lure"}')], format=1, id="0" * 32),
                   cloud=newest["cloud"], zone=newest["zone"], id="0" * 32, sender="phone")
    lure.messages["messages/phone/%s.json" % message["id"]] = message
    lure.save()
    return scene


def rows(scene):
    found = {}
    for name in ("desk", "phone", "fresh"):
        with sqlite3.connect(scene.place(name + ".db")) as connection: found[name] = connection.execute("SELECT * FROM notes").fetchall()
        connection.close()
    return found


def files(folder):
    found = {}
    for place, folders, names in os.walk(folder):
        for name in folders + names:
            path = os.path.join(place, name)
            found[os.path.relpath(path, folder)] = open(path, "rb").read() if os.path.isfile(path) else None
    return found


def one(scene, place, line):
    """Runs a command while a folder is exchanged. Returns its status and what is wrong."""
    path, link = os.path.normpath(os.path.join(scene.zone, place)), scene.place("link")
    os.symlink(os.path.normpath(os.path.join(scene.place("outside", "private", "main"), place)), link)
    before = files(scene.place("outside"))
    for _ in range(2):
        if exchange(path, link): raise OSError(ctypes.get_errno(), "this file system exchanges no names")
    child = os.fork()
    if not child:
        while True:
            # The true folder is there for longer, so that some commands end well, and others go far.
            exchange(path, link)
            time.sleep(random.choice([0, 0, 0.0001]))
            exchange(path, link)
            time.sleep(random.choice([0, 0.0003, 0.001]))
    try: status, output, errors, _ = scene.run(line.split())
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    now, problems = files(scene.place("outside")), []
    if now != before: problems.append("outside of the cloud: %s" % sorted(name for name in now.keys() | before.keys() if now.get(name) != before.get(name)))
    if "lure" in repr(rows(scene)): problems.append("a row came from outside: %s" % rows(scene))
    if status not in CODES | {74}: problems.append("it ended with %d: %s" % (status, errors))
    return status, ["%s, %s: %s" % (place, line, problem) for problem in problems]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command")
    parser.add_argument("seed", type=int)
    parser.add_argument("runs", type=int)
    parser.add_argument("--without-openat2", action="store_true")
    arguments = parser.parse_args()
    heed_alarms()
    # Not each file system exchanges a folder and a link; the one in memory does.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder, chance = tempfile.mkdtemp(prefix="snapsync-links-", dir=memory), random.Random(arguments.seed)
    codes, wrong = collections.Counter(), []
    try:
        scene = base(os.path.join(folder, "base"), os.path.abspath(arguments.command))
        # Without an attacker, the lure would be taken: from a zone that has it, each file of it is good.
        tried = scene.copy(os.path.join(folder, "tried"))
        shutil.rmtree(tried.zone)
        shutil.copytree(tried.place("outside", "private", "main"), tried.zone)
        tried.succeed("sync fresh.db")
        assert "lure" in repr(rows(tried)["fresh"]), "the lure is none"
        if arguments.without_openat2: scene.wrapper = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=openat2", "-e", "inject=openat2:error=ENOSYS"]
        for number in range(arguments.runs):
            place, line = chance.choice(PLACES), chance.choice(LINES)
            copied = scene.copy(os.path.join(folder, "run-%d" % number))
            copied.wrapper = scene.wrapper
            status, problems = one(copied, place, line)
            codes[status] += 1
            wrong += problems
            for problem in problems: print("seed %d, run %d: %s" % (arguments.seed, number, problem))
            shutil.rmtree(copied.path, ignore_errors=True)
        print("seed %d: %d runs, %d problems; %s" % (arguments.seed, arguments.runs, len(wrong), ", ".join("%d: %d" % one for one in sorted(codes.items()))))
        # Where none is refused, no exchange was met.
        sys.exit(0 if not wrong and (arguments.runs < 10 or set(codes) - {0}) else 1)
    finally: shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__": main()
