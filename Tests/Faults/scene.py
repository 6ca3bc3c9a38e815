"""A directory with the databases of some devices and the cloud that they share."""
import json, os, shutil, sqlite3, subprocess, tempfile, time

TABLES = {
    "buckets": ("id", "name", "description", "color", "iconUrl", "createdAt", "updatedAt", "isOrphan"),
    "notifications": (
        "id", "title", "subtitle", "body", "readAt", "sentAt", "createdAt", "updatedAt", "bucketId", "attachments", "actions", "tapAction"),
}
JSON_COLUMNS = {"attachments", "actions", "tapAction"}
BESIDE = ("", "-journal", "-wal", "-shm", ".snapsync-lock")


class Failure(Exception):
    pass


def environment():
    """The tests' environment without what would steer the command; its cloud is the one beside the databases."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SNAPSYNC_")}
    return dict(kept, SNAPSYNC_LOCATION="cloud")


class Scene:
    ZONE = "ZentikSyncZone"

    def __init__(self, path, command):
        self.path = path
        self.command = command
        self.environment = environment()

    def place(self, *parts):
        return os.path.join(self.path, *parts)

    @property
    def zone(self):
        return self.place("cloud", "private", self.ZONE)

    def words(self, line):
        """The command's words of a line."""
        return line.split()

    def run(self, line):
        """Runs the command with the words of a line; returns its exit code, what it prints and what it complains about."""
        words = self.words(line)
        done = subprocess.run([self.command + ("-examples" if words[0] == "generate" else "")] + words, cwd=self.path, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def succeed(self, line):
        status, output, errors = self.run(line)
        if status != 0:
            raise Failure("snapsync %s ended with %d: %s" % (line, status, errors.strip() or output.strip()))
        return output

    def sql(self, database, text):
        with sqlite3.connect(self.place(database)) as connection:
            connection.executescript(text)
        connection.close()

    def untracked(self, database, text):
        """Changes rows so that the change tracking knows nothing of it."""
        self.sql(database, "CREATE TEMP TABLE untracked AS SELECT coalesce(max(seq), 0) AS last FROM snapsync_log; %s; "
                 "DELETE FROM snapsync_log WHERE seq > (SELECT last FROM untracked);" % text)

    def copy(self, path):
        """A copy of all of it, times included."""
        shutil.copytree(self.path, path, symlinks=True)
        return type(self)(path, self.command)

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)

    def files(self):
        """The cloud's files, as paths beneath it."""
        return {os.path.relpath(os.path.join(folder, name), self.place("cloud")) for folder, _, names in os.walk(self.place("cloud")) for name in names}

    def age(self, days=3):
        """Sets the times of the cloud's files back."""
        then = time.time() - days * 86400
        for folder, _, names in os.walk(self.place("cloud")):
            for name in names:
                os.utime(os.path.join(folder, name), (then, then))

    def state(self, database):
        """What a database holds: its entities by dataset and key, and the version that it says they are of.

        Read from a copy, which SQLite may mend by its journal: the database itself is the command's to mend.
        """
        with tempfile.TemporaryDirectory(dir=os.path.dirname(self.path)) as folder:
            for ending in BESIDE[:4]:
                if os.path.exists(self.place(database + ending)):
                    shutil.copy(self.place(database + ending), os.path.join(folder, database + ending))
            connection = sqlite3.connect(os.path.join(folder, database))
            try:
                found = connection.execute("PRAGMA integrity_check").fetchall()
                if found != [("ok",)]:
                    raise Failure("%s: integrity_check says %s" % (database, found[:3]))
                rows = {table: dict(map(lambda row: entity(columns, row), connection.execute("SELECT %s FROM %s" % (", ".join(columns), table)))) for table, columns in TABLES.items()}
                if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'snapsync_state'").fetchone() is None:
                    return rows, None
                applied = connection.execute("SELECT value FROM snapsync_state WHERE key = 'applied'").fetchone()
                return rows, json.loads(applied[0])["number"] if applied else None
            except sqlite3.DatabaseError as error:
                raise Failure("%s: %s" % (database, error)) from error
            finally:
                connection.close()

    def strangers(self, databases):
        """What lies beside the databases and belongs to none of them."""
        known = {database + ending for database in databases for ending in BESIDE} | {"cloud"}
        return sorted(set(os.listdir(self.path)) - known)


def entity(columns, row):
    """A row's key, and the row as a container's JSON has it."""
    values = {}
    for name, value in zip(columns, row):
        if value is None:
            continue
        values[name] = json.loads(value) if name in JSON_COLUMNS else bool(value) if name == "isOrphan" else value
    return values["id"], values


def laid_over(version, changes):
    """A version's entities with changes laid over them: by dataset and key the new state, or None for a deletion."""
    result = {}
    for dataset in TABLES:
        entities = dict(version.get(dataset, {}))
        for key, state in changes.get(dataset, {}).items():
            if state is None:
                entities.pop(key, None)
            else:
                entities[key] = state
        result[dataset] = entities
    return result


def changes_between(version, rows):
    """What to lay over a version to have the rows."""
    changes = {}
    for dataset in TABLES:
        old, new = version.get(dataset, {}), rows[dataset]
        changes[dataset] = {key: new.get(key) for key in old.keys() | new.keys() if old.get(key) != new.get(key)}
    return changes


def together(*all_changes):
    return {dataset: {key: state for changes in all_changes for key, state in changes.get(dataset, {}).items()} for dataset in TABLES}
