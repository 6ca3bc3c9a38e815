"""A scene whose cloud lies in a bucket, and the workshop that makes such scenes. The judges read a copy of the bucket, as a directory."""
import os, shutil, subprocess, sys
from scene import Scene
from workshop import Workshop

SERVERS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "Servers")
sys.path.insert(0, SERVERS)
import s3

KEYS = {"AWS_ACCESS_KEY_ID": "testkey", "AWS_SECRET_ACCESS_KEY": "testsecret", "AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": "us-east-1"}


class Server:
    """A program that serves until its standard input ends, and says where."""

    def __init__(self, script, *words):
        self.process = subprocess.Popen([sys.executable, os.path.join(SERVERS, script), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.endpoint = self.process.stdout.readline().strip()
        if not self.endpoint:
            sys.exit(self.process.wait() or 1)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class BucketScene(Scene):
    """A cloud under a prefix of its own, which is the name of the scene's folder."""

    def __init__(self, path, command, bucket, aging):
        super().__init__(path, command)
        self.bucket, self.aging, self.prefix = bucket, aging, os.path.basename(path)
        self.environment.update(KEYS)
        self._serve(bucket.endpoint)

    def _serve(self, endpoint):
        # In place of the location that a copied database knows.
        self.location = "s3://%s/%s?endpoint=%s" % (self.bucket.name, self.prefix, endpoint)
        self.environment["SNAPSYNC_LOCATION"] = self.location

    def words(self, line):
        return [self.location if word == "cloud" else word for word in line.split()]

    @property
    def zone(self):
        """The zone as it lies in the bucket now, copied beside the databases' folder; what is no object yet is there under a temporary's name."""
        copy = self.path + ".bucket"
        shutil.rmtree(copy, ignore_errors=True)
        for key in self.files():
            self._write(os.path.join(copy, key), self.bucket.get("%s/%s" % (self.prefix, key)))
        for number, key in enumerate(self.bucket.uploads(self.prefix + "/")):
            self._write(os.path.join(copy, os.path.dirname(key[len(self.prefix) + 1:]), ".snapsync-upload-%d" % number), b"")
        return os.path.join(copy, "private", self.ZONE)

    @staticmethod
    def _write(path, data):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)

    def copy(self, path):
        shutil.copytree(self.path, path, symlinks=True)
        other = type(self)(path, self.command, self.bucket, self.aging)
        for key in self.files():
            self.bucket.put("%s/%s" % (other.prefix, key), self.bucket.get("%s/%s" % (self.prefix, key)))
        return other

    def files(self):
        return {key[len(self.prefix) + 1:] for key in self.bucket.keys(self.prefix + "/")}

    def age(self, days=3):
        """From now on the commands go through a proxy that says of all objects that they are so old."""
        assert days == 3
        self._serve(self.aging)

    def remove(self):
        super().remove()
        shutil.rmtree(self.path + ".bucket", ignore_errors=True)
        for key in self.bucket.keys(self.prefix + "/"):
            self.bucket.remove(key)

    def strangers(self, databases):
        return [name for name in super().strangers(databases) if name != "cloud"]


class BucketWorkshop(Workshop):
    """Scenes in a bucket of a real store, which runs as long as the workshop is open."""

    def __enter__(self):
        os.makedirs(os.path.join(self.folder, "store"))
        self.store = Server("seaweedfs.py", os.path.join(self.folder, "store"))
        self.bucket = s3.Bucket(self.store.endpoint, "kills")
        self.bucket.make()
        aging = os.path.join(self.folder, "aging")
        os.makedirs(aging)
        with open(os.path.join(aging, "plan"), "w") as file:
            file.write("always GET:? aged")
        self.aging = Server("faulty_proxy.py", self.store.endpoint, aging)
        return super().__enter__()

    def __exit__(self, *reason):
        self.aging.end()
        self.store.end()
        super().__exit__(*reason)

    def scene(self, path):
        return BucketScene(path, self.command, self.bucket, self.aging.endpoint)

    def inject(self, scenario, scene, *words):
        return super().inject(scenario, scene, "-n", *words)
