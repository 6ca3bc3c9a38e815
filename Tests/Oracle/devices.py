"""The devices of a history: their databases, the shared directory, and the built command that is run on them."""
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time
from collections import namedtuple

import clock

# What a command ended with; `code` is negative for a signal.
Result = namedtuple("Result", "code out err")


class Devices:
    """The folder of one history. `offsets` are the devices' clocks against true time, in microseconds."""

    def __init__(self, folder, command, shim, schema, names, offsets, base):
        self.folder, self.command, self.shim, self.schema, self.names = folder, command, shim, schema, names
        self.offsets, self.base = dict(offsets), base
        os.makedirs(folder)
        self.commands = 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def now(self, name, moment):
        return self.base + moment + self.offsets[name]

    def environment(self, name, moment):
        kept = {key: value for key, value in os.environ.items() if not key.startswith("SNAPSYNC")}
        return kept | {"LD_PRELOAD": self.shim, "ORACLE_CLOCK": str(self.now(name, moment))}

    def start(self, name, moment, arguments, before=()):
        """Starts the command on a device. `before` runs it (strace)."""
        self.commands += 1
        line = list(before) + [self.command] + list(arguments) + ["--db", name + ".db"]
        environment = self.environment(name, moment)
        if before:
            # The tracer keeps its own clock; the command gets the shim from the tracer's -E.
            line[len(before):len(before)] = []
        return subprocess.Popen(line, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def finish(self, process, limit=120):
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            return Result(-999, out, err + "\noracle: did not end in %d s" % limit)
        return Result(process.returncode, out, err)

    def run(self, name, moment, *arguments):
        return self.finish(self.start(name, moment, arguments))

    def run_killed(self, name, moment, arguments, after):
        """Runs a command and kills it after some seconds."""
        process = self.start(name, moment, arguments)
        try:
            process.wait(after)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        return self.finish(process)

    def run_cut(self, name, moment, arguments, call, when):
        """Runs a command and kills it at a system call."""
        inject = ["strace", "-f", "-qqq", "-e", "trace=%s" % call, "-e", "inject=%s:signal=KILL:when=%d" % (call, when), "-o", "/dev/null"]
        return self.finish(self.start(name, moment, arguments, inject))

    def start_statements(self, name, moment, ops, foreign_keys):
        text = transaction(ops, foreign_keys, self.base)
        return subprocess.Popen(["sqlite3", "-bail", "-cmd", ".timeout 20000", name + ".db"], cwd=self.folder, env=self.environment(name, moment),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True), text

    def statements(self, name, moment, ops, foreign_keys):
        """Runs one transaction by a plain connection."""
        process, text = self.start_statements(name, moment, ops, foreign_keys)
        out, err = process.communicate(text)
        return Result(process.returncode, out, err)

    def rows(self, name):
        """What a device's tables hold, read by Python's SQLite: {table: {key: row}}."""
        connection = sqlite3.connect(self.path(name + ".db"), timeout=20)
        try:
            return {table.name: table.by_key(connection.execute("SELECT %s FROM %s" % (", ".join(table.names()), table.name)))
                for table in self.schema.tables}
        finally:
            connection.close()

    def query(self, name, sql):
        connection = sqlite3.connect(self.path(name + ".db"), timeout=20)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def zone(self):
        return self.path("cloud/private/ZentikSyncZone")

    def newest(self):
        """The number of the newest commit, from the names in the directory."""
        try:
            return max((int(name[:20]) for name in os.listdir(os.path.join(self.zone(), "commits")) if name[20:] == ".json"), default=0)
        except FileNotFoundError:
            return 0

    def cloud_files(self):
        """Every file of the cloud with its size and time."""
        found = {}
        for folder, _, names in os.walk(self.path("cloud")):
            for name in names:
                path = os.path.join(folder, name)
                about = os.lstat(path)
                found[os.path.relpath(path, self.path("cloud"))] = (about.st_size, about.st_mtime_ns)
        return found

    def age(self, days):
        """Makes every file of the cloud older: days go by."""
        for folder, folders, names in os.walk(self.path("cloud")):
            for name in names + folders:
                path = os.path.join(folder, name)
                about = os.lstat(path)
                os.utime(path, (about.st_atime - days * 86400, about.st_mtime - days * 86400))

    def make_tables(self, name, wal):
        connection = sqlite3.connect(self.path(name + ".db"), isolation_level=None)
        if wal:
            connection.execute("PRAGMA journal_mode = WAL")
        for statement in self.schema.statements():
            connection.execute(statement)
        connection.close()

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def transaction(ops, foreign_keys, base):
    lines = ["PRAGMA foreign_keys = %s;" % ("ON" if foreign_keys else "OFF"), "BEGIN IMMEDIATE;"]
    return "\n".join(lines + [clock.expand(op["sql"], base) + ";" for op in ops] + ["COMMIT;", ""])


def parsed(result):
    """The JSON object that a command printed, or None."""
    try:
        return json.loads(result.out)
    except ValueError:
        return None
