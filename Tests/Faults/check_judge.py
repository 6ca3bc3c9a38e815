#!/usr/bin/env python3
"""Judges the judge: does harm of each kind to a scene, and sees that it is found. A judge that finds nothing would pass everything.

usage: check_judge.py SNAPSYNC
"""
import json, os, sys
from cloud_reader import sealed, sha256
from fail_everywhere import Failer
from injection import Call
from workshop import Workshop, options


def newest(scene, folder, ending):
    place = os.path.join(scene.zone, folder)
    return os.path.join(place, max(name for name in os.listdir(place) if name.endswith(ending)))


def remove_asset(scene):
    os.unlink(newest(scene, "assets/notifications_data", ".json.gz"))


def cut_index(scene):
    os.truncate(newest(scene, "assets/buckets_data", ".index.json"), 100)


def change_commit(scene):
    path = newest(scene, "commits", ".json")
    with open(path, "rb") as file:
        data = bytearray(file.read())
    data[200] ^= 1
    with open(path, "wb") as file:
        file.write(data)


def remove_commit(scene):
    os.unlink(newest(scene, "commits", ".json"))


def lose_row(scene):
    scene.untracked("watch.db", "DELETE FROM notifications WHERE id = (SELECT min(id) FROM notifications)")


def damage_database(scene):
    with open(scene.place("phone.db"), "r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 4096)


def lose_edit(scene):
    scene.sql("phone.db", "UPDATE notifications SET title = 'as it never was' WHERE title = 'by-phone'")


def leave_file(scene):
    with open(scene.place("phone.db-copy"), "w"):
        pass


def change_checkpoint(scene):
    """One that says something else, under a right seal."""
    scene.succeed("export phone.db")
    path = newest(scene, "checkpoints", ".json")
    body, _ = sealed(path, "checkpoint")
    body["records"][0]["modified"]["by"] = "nobody"
    text = json.dumps(body, separators=(",", ":"))
    with open(path, "w") as file:
        file.write('{"checkpoint":%s,"sha256":"%s"}' % (text, sha256(text.encode())))


HARM = {
    "lost": [remove_asset, cut_index, change_commit, remove_commit],
    "half": [lose_row, damage_database],
    "converged": [lose_edit],
    "orphans": [leave_file],
}
# What only another scene has.
ELSEWHERE = {"export, checkpoint": {"lost": [change_checkpoint]}}


def main():
    arguments = options(__doc__.splitlines()[0]).parse_args()
    arguments.only = ["sync, writer", *ELSEWHERE]
    missed = []
    with Workshop(arguments) as workshop:
        for scenario, scene, judge in workshop.scenarios():
            for kind, harms in ELSEWHERE.get(scenario.name, HARM).items():
                for harm in harms:
                    with workshop.copy(scene) as copy:
                        harm(copy)
                        found = judge.at_rest(copy)[0] if kind in ("lost", "half") else judge.after_next_runs(copy)
                        if not found[kind]:
                            missed.append("%s was not found: %s" % (harm.__name__, found))
            # Nothing was run: a command that says it did its work would lie.
            if judge.is_done(scene) is None:
                missed.append("work that was not done passes for done")
    twice = [Call(number, 1, "sync", "fsync", "/scene/cloud/commits/#7 (deleted)", "fe00:7", done) for number, done in ((1, "failed"), (2, "-"))]
    if not Failer.synced_again(twice) or Failer.synced_again(twice[1:]):
        missed.append("a second fsync of a file is not told from a first")
    print("\n".join(missed) or "all harm was found")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
