"""A folder that two real Syncthing instances replicate over the loopback interface: a writer on one side, a reader with messages on the
other; then two peers whose commits of one number meet: one of the two is refused and accepts the other version.

Nothing leaves this machine: discovery, relays, NAT, usage and crash reports and upgrades are off, and both instances listen on 127.0.0.1
alone, on ports that were free. The processes that this script starts are ended by their ids.
"""
import contextlib, json, os, shutil, socket, sqlite3, subprocess, sys, time, urllib.error, urllib.request
import xml.etree.ElementTree as xml

HERE = os.path.dirname(os.path.abspath(__file__))
SNAPSYNC, WORK = os.environ["SNAPSYNC"], os.environ["WORK"]
# How long anything may take before the run counts as stuck; on a busy machine a scan alone takes seconds.
PATIENCE = 300


class Failure(Exception):
    pass


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def until(fact, look):
    """Looks until it gets something true, and returns that."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            found = look()
        except (urllib.error.URLError, ConnectionError, socket.timeout):
            found = None
        if found:
            return found
        if time.monotonic() > end:
            raise Failure("it did not come true within %d s that %s" % (PATIENCE, fact))
        time.sleep(0.1)


class Instance:
    """One Syncthing: its configuration, its process, and its folders, which lie beside one another in a directory of their own."""

    def __init__(self, name):
        self.name = name
        self.home = os.path.join(WORK, name, "syncthing")
        self.port, self.gui = free_ports(2)
        self.key = name + "-key"
        self.process = None
        os.makedirs(self.home)
        self.environment = dict(os.environ, HOME=self.home, STNOUPGRADE="1", STMONITORED="yes", STNORESTART="1")
        subprocess.run(["syncthing", "generate", "--home", self.home, "--no-default-folder"], env=self.environment, check=True, capture_output=True)
        self.id = subprocess.run(["syncthing", "--home", self.home, "--device-id"], env=self.environment, check=True, capture_output=True, text=True).stdout.strip()

    def folder(self, name):
        return os.path.join(WORK, self.name, name)

    def configure(self, others, folders):
        path = os.path.join(self.home, "config.xml")
        tree = xml.parse(path)
        root = tree.getroot()
        for tag in ("folder", "device"):
            for element in root.findall(tag):
                root.remove(element)
        for one in [self] + others:
            device = xml.SubElement(root, "device", id=one.id, name=one.name, compression="never")
            xml.SubElement(device, "address").text = "tcp://127.0.0.1:%d" % one.port
        for name in folders:
            folder = xml.SubElement(root, "folder", id=name, path=self.folder(name), type="sendreceive", rescanIntervalS="3600", fsWatcherEnabled="false")
            for one in [self] + others:
                xml.SubElement(folder, "device", id=one.id)
            xml.SubElement(folder, "maxConflicts").text = "-1"
        gui = root.find("gui")
        for tag, text in (("address", "127.0.0.1:%d" % self.gui), ("apikey", self.key)):
            element = gui.find(tag)
            (xml.SubElement(gui, tag) if element is None else element).text = text
        options = root.find("options")
        for tag, text in {
            "listenAddress": "tcp://127.0.0.1:%d" % self.port, "globalAnnounceEnabled": "false", "localAnnounceEnabled": "false", "relaysEnabled": "false",
            "natEnabled": "false", "urAccepted": "-1", "crashReportingEnabled": "false", "autoUpgradeIntervalH": "0", "startBrowser": "false",
            "stunKeepaliveStartS": "0", "announceLANAddresses": "false", "reconnectionIntervalS": "1",
        }.items():
            for element in options.findall(tag):
                options.remove(element)
            xml.SubElement(options, tag).text = text
        tree.write(path)

    def start(self):
        log = open(os.path.join(self.home, "log"), "w")
        self.process = subprocess.Popen(
            ["syncthing", "serve", "--home", self.home, "--no-browser", "--no-restart", "--no-default-folder"], env=self.environment, stdout=log, stderr=log)
        log.close()
        until("%s answers" % self.name, lambda: self.ask("GET", "system/ping"))

    def stop(self):
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def ask(self, method, path, body=None):
        if self.process is not None and self.process.poll() is not None:
            raise Failure("%s ended: %s" % (self.name, open(os.path.join(self.home, "log")).read()[-2000:]))
        request = urllib.request.Request(
            "http://127.0.0.1:%d/rest/%s" % (self.gui, path), method=method, headers={"X-API-Key": self.key, "Content-Type": "application/json"},
            data=None if body is None else json.dumps(body).encode())
        # No proxy between this process and its own machine.
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
            text = answer.read()
            return json.loads(text) if text.strip() else True

    def scan(self, folder):
        self.ask("POST", "db/scan?folder=" + folder)

    def is_idle(self, folder):
        status = self.ask("GET", "db/status?folder=" + folder)
        if status.get("error"):
            raise Failure("%s: %s" % (self.name, status["error"]))
        return status["state"] == "idle" and status["needTotalItems"] == 0


def listing(root):
    """The files beneath a folder with their contents, without Syncthing's own."""
    found = {}
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if name not in (".stfolder", ".stversions")]
        for name in files:
            path = os.path.join(folder, name)
            with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
                found[os.path.relpath(path, root)] = file.read()
    return found


class Pair:
    def __init__(self, folders):
        self.sides = [Instance("one"), Instance("two")]
        for side in self.sides:
            side.configure([other for other in self.sides if other is not side], folders)

    def start(self):
        for side in self.sides:
            side.start()

    def stop(self):
        for side in self.sides:
            side.stop()

    def replicate(self, folder):
        """Lets both sides have the same files, conflict copies included."""
        def are_equal():
            for side in self.sides:
                side.scan(folder)
            return all(side.is_idle(folder) for side in self.sides) and listing(self.sides[0].folder(folder)) == listing(self.sides[1].folder(folder))
        until("both sides of %s have the same files" % folder, are_equal)

    def connect(self, on):
        """Lets the instances talk, or keeps them apart."""
        for side, other in zip(self.sides, reversed(self.sides)):
            side.ask("POST", "system/%s?device=%s" % ("resume" if on else "pause", other.id))
        def is_so():
            return all(side.ask("GET", "system/connections")["connections"][other.id]["connected"] == on for side, other in zip(self.sides, reversed(self.sides)))
        until("the instances are %s" % ("connected" if on else "apart"), is_so)


def run(*words, status=0):
    done = subprocess.run([SNAPSYNC + ("-examples" if words[0] == "generate" else ""), *words], capture_output=True, text=True, cwd=WORK)
    if done.returncode != status:
        raise Failure("snapsync %s ended with %d: %s%s" % (" ".join(words), done.returncode, done.stdout, done.stderr))
    return done.stdout


def sql(database, text):
    with contextlib.closing(sqlite3.connect(os.path.join(WORK, database))) as connection, connection:
        return connection.execute(text).fetchall()


def expect(fact, found, wanted):
    if found != wanted:
        raise Failure("%s: found %r, not %r" % (fact, found, wanted))


def expect_equal(*databases):
    rows = [sql(database, "SELECT * FROM notifications ORDER BY id") + sql(database, "SELECT * FROM buckets ORDER BY id") for database in databases]
    if any(other != rows[0] for other in rows):
        raise Failure("%s do not hold the same rows" % ", ".join(databases))
    for database in databases:
        run("check", database, "--local", "--all-versions")


def messages(side, folder):
    return [path for path in listing(side.folder(folder)) if "/messages/" in path]


def writer_and_reader(pair):
    one, two = pair.sides
    run("init", "phone.db", one.folder("shared"), "--built-in", "--name", "phone")
    run("sync", "phone.db")
    pair.replicate("shared")
    run("join", "watch.db", two.folder("shared"), "--name", "watch")
    run("sync", "watch.db")
    expect_equal("phone.db", "watch.db")
    if "Syncthing" not in run("check", "watch.db", "-v"):
        raise Failure("check does not say that Syncthing replicates the folder")

    key = sql("watch.db", "SELECT id FROM notifications WHERE readAt IS NULL ORDER BY id LIMIT 1")[0][0]
    sql("watch.db", "UPDATE notifications SET readAt = '2026-01-02T03:04:05Z' WHERE id = '%s'" % key)
    run("sync", "watch.db")
    expect("messages at the reader", len(messages(two, "shared")), 1)
    pair.replicate("shared")
    report = json.loads(run("sync", "phone.db", "--json"))
    expect("messages that the writer applied", report["exported"]["messagesApplied"], 1)
    expect("the writer's row", sql("phone.db", "SELECT readAt FROM notifications WHERE id = '%s'" % key), [("2026-01-02T03:04:05Z",)])
    pair.replicate("shared")
    run("sync", "watch.db")
    pair.replicate("shared")
    expect("messages that are left", messages(one, "shared") + messages(two, "shared"), [])
    expect_equal("phone.db", "watch.db")
    return key


def message_taken_away(pair):
    """The reader's side is made to receive only for a while, and its own files are reverted: the message vanishes unanswered."""
    one, two = pair.sides
    key = sql("watch.db", "SELECT id FROM notifications WHERE readAt IS NULL ORDER BY id DESC LIMIT 1")[0][0]
    two.ask("PATCH", "config/folders/shared", {"type": "receiveonly"})
    sql("watch.db", "UPDATE notifications SET readAt = '2026-01-03T03:04:05Z' WHERE id = '%s'" % key)
    run("sync", "watch.db")
    expect("messages at the reader", len(messages(two, "shared")), 1)
    def is_reverted():
        two.scan("shared")
        two.ask("POST", "db/revert?folder=shared")
        return messages(two, "shared") == []
    until("Syncthing has reverted the reader's local changes", is_reverted)
    expect("messages at the writer", messages(one, "shared"), [])
    run("sync", "phone.db")
    two.ask("PATCH", "config/folders/shared", {"type": "sendreceive"})
    pair.replicate("shared")
    applied = 0
    for _ in range(2):
        run("sync", "watch.db")
        pair.replicate("shared")
        applied += json.loads(run("sync", "phone.db", "--json"))["exported"]["messagesApplied"]
        pair.replicate("shared")
    run("sync", "watch.db")
    pair.replicate("shared")
    expect("times that the message was applied", applied, 1)
    expect("the writer's row", sql("phone.db", "SELECT readAt FROM notifications WHERE id = '%s'" % key), [("2026-01-03T03:04:05Z",)])
    expect("messages that are left", messages(one, "shared") + messages(two, "shared"), [])
    expect_equal("phone.db", "watch.db")


def versions_of_one_number(pair):
    one, two = pair.sides
    pair.connect(False)
    ids = [row[0] for row in sql("desk.db", "SELECT id FROM notifications ORDER BY id")]
    sql("desk.db", "UPDATE notifications SET title = 'by desk' WHERE id = '%s'" % ids[0])
    sql("laptop.db", "UPDATE notifications SET title = 'by laptop' WHERE id = '%s'" % ids[-1])
    for name in ("desk.db", "laptop.db"):
        expect("the version of " + name, json.loads(run("sync", name, "--json"))["exported"]["version"], 2)
    for side in pair.sides:
        side.scan("peers")
    pair.connect(True)
    pair.replicate("peers")
    copies = [path for path in listing(one.folder("peers")) if ".sync-conflict-" in path]
    expect("conflict copies of the commit", [os.path.dirname(path) for path in copies if "/commits/" in path], ["private/ZentikSyncZone/commits"])
    # Syncthing decides which of the two stands. The other device is refused, accepts it, and has its own rows in a copy.
    gone = [name for name in ("desk", "laptop") if subprocess.run([SNAPSYNC, "sync", name + ".db"], cwd=WORK, capture_output=True).returncode == 65]
    expect("the number of devices whose version is gone", len(gone), 1)
    run("import", gone[0] + ".db", "--accept-rollback", "2")
    for name in ("desk.db", "laptop.db"):
        run("sync", name)
        pair.replicate("peers")
    expect_equal("desk.db", "laptop.db")
    expect("its title in the copy", ("by " + gone[0]) in run("show", gone[0] + ".db.snapsync-kept", "notifications"), True)
    return os.path.basename(next(path for path in copies if "/commits/" in path))


def main():
    installed = subprocess.run(["bash", os.path.join(HERE, "install.sh"), "syncthing"])
    if installed.returncode != 0:
        return installed.returncode
    version = subprocess.run(["syncthing", "--version"], capture_output=True, text=True).stdout.split(" ")[1]
    pair = Pair(["shared", "peers"])
    one, two = pair.sides
    for side in pair.sides:
        os.makedirs(side.folder("shared"))
    run("generate", "phone.db", "--notifications", "40", "--buckets", "4")
    # A folder that a tool replicates is refused to peers, so they come to share one before it does.
    run("generate", "desk.db", "--notifications", "12", "--buckets", "2")
    run("init", "desk.db", one.folder("peers"), "--peers", "--built-in", "--name", "desk")
    run("sync", "desk.db")
    shutil.copytree(one.folder("peers"), two.folder("peers"))
    run("join", "laptop.db", two.folder("peers"), "--peer", "--name", "laptop")
    run("sync", "laptop.db")
    try:
        pair.start()
        pair.connect(True)
        pair.replicate("peers")
        key = writer_and_reader(pair)
        print("syncthing %s: a writer's versions and a reader's read mark of %s travelled both ways; all devices equal, no message left" % (version, key))
        message_taken_away(pair)
        print("syncthing %s: a message that \"revert local changes\" took away was put back and applied once" % version)
        copy = versions_of_one_number(pair)
        print("syncthing %s: two peers published version 2 while apart; Syncthing kept %s, the other device accepted that version and has its own in a copy" % (version, copy))
    finally:
        pair.stop()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit("failed: %s" % failure)
