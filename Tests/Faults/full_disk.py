#!/usr/bin/env python3
"""Lets the disk be full: a tmpfs of 2 MiB under the cloud, then under the database, with ever more room in it.

usage: full_disk.py SNAPSYNC [--sample N] [--only TEXT] [--jobs N] [--seed N]

For each scenario and each of the two places, the command runs with 0 KiB left, with 4, with 8, and so on, to 76 at least, until it comes to its end.
What ends too early must end with 74; the judgement is that of fail_everywhere.py, the next run has room again. Only root can mount a file
system: without that right it says so and ends with 0.
"""
import contextlib, os, shutil, subprocess, sys
from figures import Figures
from workshop import Workshop, options

COLUMNS = ["points", "full", "done", "silent", "code", "lost", "half", "converged", "orphans"]
HEADINGS = {
    "points": "points tried", "full": "ended with 74", "done": "had room", "silent": "silent", "code": "wrong code", "lost": "versions lost",
    "half": "half imports", "converged": "not converged", "orphans": "orphans left"}
WRONG = ["silent", "code", "lost", "half", "converged", "orphans"]
PAGE = 4096
SIZE = 2 << 20


def may_mount(folder):
    place = os.path.join(folder, "mount-probe")
    os.mkdir(place)
    try:
        with small_disk(place):
            return True
    except subprocess.CalledProcessError:
        return False


@contextlib.contextmanager
def small_disk(place):
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d" % SIZE, "tmpfs", place], check=True, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        unmount(place)


def unmount(place):
    # Another thread's child that has not begun its program yet may hold a file open: the place is left at once, the rest follows.
    subprocess.run(["umount", "--lazy", place], check=True)


@contextlib.contextmanager
def moved_to_small_disk(place, aside):
    """The folder's content on a small disk in its place; what it was is kept aside meanwhile."""
    os.rename(place, aside)
    os.mkdir(place)
    try:
        with small_disk(place):
            shutil.copytree(aside, place, dirs_exist_ok=True, symlinks=True)
            yield
    finally:
        shutil.rmtree(aside)


def fill(place, room):
    """Leaves so many bytes free; returns the file that takes the rest, or None if there is less than that."""
    facts = os.statvfs(place)
    free = facts.f_bavail * facts.f_bsize - room
    if free < 0:
        return None
    # A hidden one: `init` takes no directory with files of others.
    path = os.path.join(place, ".filler")
    with open(path, "wb") as file:
        file.write(b"\0" * free)
    return path


class Filler:
    def __init__(self, workshop, figures):
        self.workshop, self.figures = workshop, figures

    def torture(self, scenario, scene, judge):
        self.workshop.clean(scenario, scene, judge)
        for place in ("cloud", ""):
            name = "%s; %s full" % (scenario.name, "cloud" if place else "database")
            pages = [0] + self.workshop.sample(range(1, self.enough(scenario, scene, judge, place)))
            for page, problems in self.workshop.each(lambda page: self.run(scenario, scene, judge, place, page * PAGE), pages):
                if problems is None:
                    continue
                self.figures.add(name, points=1)
                for kind, text in problems:
                    if kind in ("full", "done"):
                        self.figures.add(name, **{kind: 1})
                    else:
                        self.figures.problem(name, "%d KiB left" % (page * 4), kind, text)

    def enough(self, scenario, scene, judge, place):
        """A number of pages that leaves the command room for all its work."""
        for pages in (20, 40, 80, 160, 320):
            problems = self.run(scenario, scene, judge, place, pages * PAGE)
            if problems and ("done", "") in problems:
                return pages
        raise SystemExit("%s: a disk of %d KiB is too small for its work" % (scenario.name, SIZE >> 10))

    def run(self, scenario, scene, judge, place, room):
        with self.workshop.copy(scene) as copy, contextlib.ExitStack() as stack:
            # Before `init` there is none.
            os.makedirs(copy.place("cloud"), exist_ok=True)
            if not place:
                # The databases alone: the cloud stays on a disk with room.
                shutil.move(copy.place("cloud"), copy.path + "-cloud")
                stack.callback(shutil.rmtree, copy.path + "-cloud", ignore_errors=True)
            stack.enter_context(moved_to_small_disk(copy.place(place).rstrip("/"), copy.path + "-aside"))
            if not place:
                os.mkdir(copy.place("cloud"))
                subprocess.run(["mount", "--bind", copy.path + "-cloud", copy.place("cloud")], check=True)
                stack.callback(unmount, copy.place("cloud"))
            filler = fill(copy.place(place), room)
            if filler is None:
                return None
            status, _, errors = copy.run(scenario.line)
            os.unlink(filler)
            problems = []
            if status == 0:
                why = judge.is_done(copy)
                problems.append(("silent", "exit 0, and " + why) if why else ("done", ""))
            elif status == 74 and errors.strip():
                problems.append(("full", ""))
            else:
                problems.append(("code", "exit %d: %s" % (status, errors.strip())))
            found = judge.at_rest(copy)[0]
            found.update(judge.after_next_runs(copy))
            return problems + [(kind, text) for kind, texts in found.items() for text in texts[:1]]


def main():
    arguments = options(__doc__.splitlines()[0]).parse_args()
    figures = Figures(COLUMNS, WRONG)
    with Workshop(arguments) as workshop:
        if not may_mount(workshop.folder):
            print("skipped: only root can mount a small file system")
            return
        for scenario, scene, judge in workshop.scenarios():
            if os.path.getsize(scene.place(scenario.at_work)) > SIZE // 4:
                continue
            Filler(workshop, figures).torture(scenario, scene, judge)
    is_well = figures.show(HEADINGS)
    sys.exit(0 if is_well and sum(row["full"] for row in figures.rows.values()) > 0 else 1)


if __name__ == "__main__":
    main()
