"""The runs that are killed and failed: each a scene made ready, and the command at work in it."""
import base64, random

# A minute ago: SQLite rounds the present time to the next millisecond, and no change may be later than the clock.
EDIT = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-60 seconds')"


class Scenario:
    """A prepared scene and the command under test.

    line:       the command's words; its database is the device at work
    proof:      expressions for lines that tell that the clean run came to what the scenario is about: its output's, and `made PATH` and
                `removed PATH` for the cloud's files
    devices:    all databases, the one at work first
    carries:    devices whose changes the command may bring into the database at work (by messages)
    is_unknown: changes of the device at work that were made behind the tracking's back and are to go
    """

    def __init__(self, name, prepare, line, proof, devices, carries=(), is_unknown=False):
        self.name, self.prepare, self.line, self.proof = name, prepare, line, proof
        self.devices, self.carries, self.is_unknown = devices, carries, is_unknown

    @property
    def at_work(self):
        return self.devices[0]


def phone(scene, fill="generate phone.db --notifications 12 --buckets 3"):
    scene.succeed(fill)
    scene.succeed("init phone.db cloud --built-in --name phone")


def watch(scene):
    """A reader with the built-in tables, which the first version has."""
    scene.succeed("generate watch.db --notifications 0 --buckets 0")
    scene.sql("watch.db", "PRAGMA journal_mode = WAL")
    scene.succeed("join watch.db cloud --name watch")


def phone_and_watch(scene):
    phone(scene)
    scene.succeed("export phone.db")
    watch(scene)
    scene.succeed("import watch.db")


def edit(scene, database, which, name):
    """Changes three entities, adds one and removes one, all others than `which` gets elsewhere."""
    scene.sql(database, """
        UPDATE notifications SET title = '%(name)s', updatedAt = %(now)s WHERE id IN (SELECT id FROM notifications ORDER BY id LIMIT 2 OFFSET %(which)d);
        DELETE FROM notifications WHERE id = (SELECT id FROM notifications ORDER BY id LIMIT 1 OFFSET %(after)d);
        INSERT INTO buckets VALUES('%(name)s', 'made there', NULL, NULL, NULL, %(now)s, %(now)s, NULL);
        """ % {"name": name, "which": which, "after": which + 2, "now": EDIT})


def big(scene):
    """A dataset of so many bytes that a commit writes a change asset alone; few rows, for they are read at each point."""
    chance = random.Random(1)
    phone(scene)
    for number in range(48):
        text = base64.b64encode(chance.randbytes(30000)).decode()
        scene.sql("phone.db", "INSERT INTO notifications SELECT 'big%02d', 'large', NULL, '%s', NULL, NULL, createdAt, updatedAt, bucketId, '[]', '[]', NULL FROM notifications LIMIT 1" % (number, text))
    scene.succeed("export phone.db")
    watch(scene)
    scene.succeed("import watch.db")


def fresh(scene):
    scene.succeed("generate phone.db --notifications 12 --buckets 3")


def first_export(scene):
    phone(scene)


def snapshot_export(scene):
    phone_and_watch(scene)
    edit(scene, "phone.db", 0, "by-phone")


def change_export(scene):
    big(scene)
    edit(scene, "phone.db", 0, "by-phone")


def checkpoint_export(scene):
    """Version 17 is to come, with which the checkpoint of version 16 is written."""
    phone_and_watch(scene)
    for number in range(15):
        scene.sql("phone.db", "UPDATE buckets SET color = '#%06d', updatedAt = %s" % (number, EDIT))
        scene.succeed("export phone.db")
    edit(scene, "phone.db", 0, "by-phone")


def first_import(scene):
    phone(scene)
    scene.succeed("export phone.db")
    watch(scene)


def chain_import(scene):
    change_export(scene)
    scene.succeed("export phone.db")
    edit(scene, "phone.db", 4, "again-by-phone")
    scene.succeed("export phone.db")


def block_import(scene):
    chain_import(scene)
    scene.untracked("watch.db", "UPDATE notifications SET title = 'nobody knows' WHERE id = 'big07'; DELETE FROM notifications WHERE id = 'big30'")
    # Finds the difference, and notes that the next sync has to compare all rows.
    scene.run("check watch.db --local")


def tell(scene, database, name):
    """Changes that messages carry: a notification marked as read, one deleted, a bucket made and one renamed."""
    scene.sql(database, """
        UPDATE notifications SET readAt = %(now)s, updatedAt = %(now)s WHERE id = (SELECT max(id) FROM notifications WHERE readAt IS NULL);
        DELETE FROM notifications WHERE id = (SELECT max(id) FROM notifications WHERE readAt IS NOT NULL AND readAt < '2026-06-01');
        INSERT INTO buckets VALUES('%(name)s', 'told', NULL, NULL, NULL, %(now)s, %(now)s, NULL);
        UPDATE buckets SET name = '%(name)s', updatedAt = %(now)s WHERE id = (SELECT max(id) FROM buckets WHERE name <> 'told' AND id NOT LIKE 'by-%%');
        """ % {"name": name, "now": EDIT})


def send(scene):
    phone_and_watch(scene)
    tell(scene, "watch.db", "by-watch")


def apply(scene):
    send(scene)
    scene.succeed("sync watch.db")


def writer_sync(scene):
    apply(scene)
    edit(scene, "phone.db", 0, "by-phone")


def reader_sync(scene):
    """News to import, answered messages to take away, and others to send."""
    writer_sync(scene)
    scene.succeed("sync phone.db")
    scene.sql("watch.db", """
        UPDATE notifications SET readAt = %(now)s, updatedAt = %(now)s WHERE id = (SELECT max(id) FROM notifications WHERE readAt IS NULL);
        DELETE FROM notifications WHERE id = (SELECT max(id) FROM notifications WHERE readAt IS NULL);
        """ % {"now": EDIT})


def peers(scene):
    """Two peers that have both edited, one of which has published; messages of a reader wait."""
    scene.succeed("generate desk.db --notifications 14 --buckets 3")
    scene.succeed("init desk.db cloud --peers --built-in --name desk")
    scene.succeed("sync desk.db")
    scene.succeed("join laptop.db cloud --peer --name laptop")
    scene.succeed("sync laptop.db")
    watch(scene)
    scene.succeed("sync watch.db")
    edit(scene, "desk.db", 0, "by-desk")
    edit(scene, "laptop.db", 4, "by-laptop")
    scene.succeed("sync laptop.db")
    tell(scene, "watch.db", "by-watch")
    # The messages alone: what laptop has published is for the reader's next run.
    scene.succeed("sync watch.db")


def old_versions(scene):
    phone_and_watch(scene)
    for number in range(5):
        scene.sql("phone.db", "UPDATE buckets SET color = '#%06d', updatedAt = %s" % (number, EDIT))
        scene.succeed("export phone.db")
    scene.succeed("import watch.db")
    scene.age()


PHONE, WATCH = ("phone.db", "watch.db"), ("watch.db", "phone.db")

SCENARIOS = [
    Scenario("init, writer", fresh, "init phone.db cloud --built-in --name phone", ["made cloud.json", "made .*/zone.json"], PHONE[:1]),
    Scenario("export, first", first_export, "export phone.db", ["published version 1"], PHONE[:1]),
    Scenario("export, snapshot asset", snapshot_export, "export phone.db", [r"made .*/notifications_data/0*2-\w+.json.gz"], PHONE),
    Scenario("export, change asset", change_export, "export phone.db", [r"made .*/notifications_data/0*2-\w+.changes.json.gz"], PHONE),
    Scenario("export, checkpoint", checkpoint_export, "export phone.db", ["published version 17", "made .*/checkpoints/0*16.json"], PHONE),
    Scenario("import, first", first_import, "import watch.db", ["imported version 1"], WATCH),
    Scenario("import, chain", chain_import, "import watch.db", [r"  notifications: .* \(2 change assets\)"], WATCH),
    Scenario("import, blocks", block_import, "import watch.db", [r"  notifications: .* \(2 of \d+ blocks differed\)"], WATCH, is_unknown=True),
    Scenario("sync, messages sent", send, "sync watch.db", ["sent 4 edits to the publisher"], WATCH),
    Scenario("sync, messages applied", apply, "sync phone.db", ["  edits of readers: 4 applied"], PHONE, carries=("watch.db",)),
    Scenario("sync, writer", writer_sync, "sync phone.db", ["published version 2", "  edits of readers: 4 applied"], PHONE, carries=("watch.db",)),
    Scenario("sync, reader", reader_sync, "sync watch.db", ["imported version 2", "sent 2 edits .*", "removed .*/messages/watch/.*"], WATCH),
    Scenario(
        "sync, peer", peers, "sync desk.db", ["imported version 2", "published version 3", "  edits of readers: 4 applied"],
        ("desk.db", "laptop.db", "watch.db"), carries=("watch.db",)),
    Scenario(
        "prune", old_versions, "prune phone.db --keep-last 2",
        ["removed versions 1 to 4, .*", "made .*/checkpoints/.*", "removed .*/assets/.*", "removed .*/commits/0*4.json"], PHONE),
]
