"""What both torturers share: their options, the prepared scenes, and a copy of one for each point."""
import argparse, concurrent.futures, contextlib, os, random, re, shutil, tempfile, threading
from injection import Injector
from judge import Judge
from scene import Scene
from scenarios import SCENARIOS


def options(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("command", help="the built snapsync")
    parser.add_argument("--only", metavar="TEXT", action="append", help="only scenarios whose names begin so")
    parser.add_argument("--sample", metavar="N", type=int, help="so many points of each scenario, spread by the seed, instead of all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--folder", help="where scenes are made (default: in memory, /dev/shm, if there is one)")
    return parser


class Workshop:
    """The scenes of one run. A context: what it made is removed at its end."""

    def __init__(self, options):
        self.options = options
        self.command = os.path.abspath(options.command)
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="snapsync-faults-", dir=options.folder or memory)
        self.injector = Injector(self.folder)
        self.chance = random.Random(options.seed)
        self.numbers = iter(range(1 << 62))
        self.lock = threading.Lock()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def scenarios(self, without=()):
        """The scenarios asked for, each with its prepared scene and the judge of it."""
        wanted = [one for one in SCENARIOS if one.name not in without]
        wanted = [one for one in wanted if not self.options.only or any(one.name.startswith(text) for text in self.options.only)]
        if not wanted:
            raise SystemExit("no scenario's name begins so; there are: " + "; ".join(one.name for one in SCENARIOS))
        for number, scenario in enumerate(wanted):
            scene = self.scene(os.path.join(self.folder, "scene-%d" % number))
            os.mkdir(scene.path)
            scenario.prepare(scene)
            yield scenario, scene, Judge(scenario, scene)
            scene.remove()

    def scene(self, path):
        """A scene that is still to be made ready."""
        return Scene(path, self.command)

    @contextlib.contextmanager
    def copy(self, scene):
        with self.lock:
            path = os.path.join(self.folder, "copy-%d" % next(self.numbers))
        copy = scene.copy(path)
        try:
            yield copy
        finally:
            copy.remove()

    def inject(self, scenario, scene, *words):
        return self.injector.run([self.command] + scene.words(scenario.line), scene.path, words, scene.environment)

    def clean(self, scenario, scene, judge):
        """The run without faults. Raises unless it did its work, and came to what the scenario is about."""
        with self.copy(scene) as copy:
            run = self.inject(scenario, copy)
            why = judge.is_done(copy) if run.status == 0 else run.errors or "no word of why"
            if why:
                raise SystemExit("%s: the clean run ended with %d: %s" % (scenario.name, run.status, why))
            before, after = scene.files(), copy.files()
            lines = run.output.splitlines() + ["made " + path for path in after - before] + ["removed " + path for path in before - after]
            for proof in scenario.proof:
                if not any(re.fullmatch(proof, line) for line in lines):
                    raise SystemExit("%s: no line of the clean run is %s:\n%s" % (scenario.name, proof, "\n".join(lines)))
            return run

    def sample(self, points):
        """The points to try: all, or a sample."""
        points = list(points)
        if self.options.sample is None or self.options.sample >= len(points):
            return points
        return sorted(self.chance.sample(points, self.options.sample))

    def each(self, work, points):
        """Does the work for each point, several at once, and yields point and result in order."""
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            yield from zip(points, pool.map(work, points))
