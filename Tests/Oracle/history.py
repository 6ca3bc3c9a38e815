"""A history: a schema, devices and steps that follow from a seed; running it and judging its end."""
import os
import random
import tempfile
import time

import final
import generator
from devices import Devices
from follower import Failed


class History:
    """What a seed leads to. `steps` are concrete, so that a part of them can be run again."""

    def __init__(self, kind, seed, steps=None, without=(), short=False):
        self.kind, self.seed, self.steps, self.without = kind, seed, steps, without
        chance = random.Random("%s %s" % (kind, seed))
        self.plan = generator.plan(kind, chance, without)
        self.schema = self.plan.schema
        if short:
            self.plan.length //= 3
        self.chance = chance


class Outcome:
    def __init__(self, history, problem, figures, log, base):
        self.history, self.problem, self.figures, self.log, self.base = history, problem, figures, log, base


def run(history, tools, keep=None):
    """Runs a history in a folder of its own. With no steps yet, it draws them as it goes, and writes them into the history."""
    folder = keep or tempfile.mkdtemp(prefix="oracle-", dir=tools.scratch)
    place = os.path.join(folder, "history")
    base = int(time.time() - 3600) * 1_000_000
    plan = history.plan
    devices = Devices(place, tools.command, tools.shim, history.schema, plan.names, plan.offsets, base)
    try:
        with open(devices.path("datasets.json"), "w") as file:
            file.write(history.schema.dataset_file())
        run = plan.run(history, devices)
        problem = None
        try:
            for name in plan.names:
                plan.make_database(devices, name)
            run.look(*plan.names)
            if history.steps is None:
                history.steps = []
                for step in generator.steps(history, run):
                    history.steps.append(step)
                    run.do(step)
            else:
                for step in history.steps:
                    run.do(step)
            final.judge(run, max((step["at"] for step in history.steps), default=0))
        except Failed as failure:
            problem = str(failure)
        run.figures["commands"] += devices.commands
        return Outcome(history, problem, run.figures, run.log, base)
    finally:
        if not keep:
            devices.remove()
            os.rmdir(folder)
