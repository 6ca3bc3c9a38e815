#!/usr/bin/env python3
"""Runs Ceph's object store with two gateways on free ports of 127.0.0.1, all of it in one folder, until standard input ends. As root.

    Tests/Servers/ceph.py FOLDER       prints `ENDPOINT ENDPOINT`, then waits for the end of standard input
    Tests/Servers/ceph.py --install    installs Debian's packages, if they are not there

One monitor, one manager, one OSD that keeps its objects in memory. Access key `testkey`, secret `testsecret`; `readkey`, `readsecret` may only read.
Exit code 77: it cannot run here.
"""
import os
import shutil
import subprocess
import sys
import time
import uuid

sys.dont_write_bytecode = True

import served

PACKAGES = {"ceph-mon": "ceph-mon", "ceph-osd": "ceph-osd", "ceph-mgr": "ceph-mgr", "radosgw": "radosgw", "ceph-common": "ceph"}

CONFIGURATION = """
[global]
fsid = %(fsid)s
mon host = v1:127.0.0.1:%(monitor)d
public addr = 127.0.0.1
ms bind msgr2 = false
auth cluster required = none
auth service required = none
auth client required = none
keyring = %(folder)s/keyring
run dir = %(folder)s
admin socket = %(folder)s/$name.socket
pid file =
log file = %(folder)s/$name.log
mon cluster log file = %(folder)s/cluster.log
crash dir = %(folder)s/crash
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon data avail warn = 1
mon data avail crit = 1
mon data = %(folder)s/mon
mgr data = %(folder)s/mgr
mgr initial modules =
osd data = %(folder)s/osd
osd objectstore = memstore
memstore device bytes = 2147483648
rgw data = %(folder)s/rgw
rgw run sync thread = false
rgw thread pool size = 64
"""


def install():
    missing = [package for package, program in PACKAGES.items() if not shutil.which(program)]
    if not missing:
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        print("ceph.py: %s are missing, and only root can install them" % " ".join(missing), file=sys.stderr)
        sys.exit(77)
    print("ceph.py: installing %s" % " ".join(missing), file=sys.stderr)
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    # Nothing of it may start by itself.
    for words in (["apt-get", "update", "-qq"], ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing]):
        subprocess.run(words, check=True, env=environment, stdout=subprocess.DEVNULL)


class Cluster:
    def __init__(self, folder):
        self.folder, self.processes = folder, []
        for name in ("mon", "mgr", "osd", "rgw", "crash"):
            os.makedirs(os.path.join(folder, name))
        self.configuration = os.path.join(folder, "ceph.conf")
        self.fsid, self.monitor = str(uuid.uuid4()), served.free_port()
        with open(self.configuration, "w") as file:
            file.write(CONFIGURATION % {"fsid": self.fsid, "monitor": self.monitor, "folder": folder})
        open(os.path.join(folder, "keyring"), "w").close()

    def run(self, *words):
        done = subprocess.run([words[0], "-c", self.configuration, *words[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        if done.returncode:
            raise SystemExit("ceph.py: %s ended with %d: %s" % (" ".join(words), done.returncode, done.stdout[-2000:]))
        return done.stdout

    def begin(self, *words):
        with open(os.path.join(self.folder, "output"), "a") as log:
            self.processes.append(subprocess.Popen([words[0], "-c", self.configuration, "-f", *words[1:]], stdout=log, stderr=log, stdin=subprocess.DEVNULL))

    def gateway(self, name, port):
        self.begin("radosgw", "-n", "client.rgw." + name, "--rgw-frontends", "beast endpoint=127.0.0.1:%d" % port)
        if not served.answers(self.processes[-1], "http://127.0.0.1:%d" % port):
            raise SystemExit("ceph.py: a gateway ended at once; see %s" % self.folder)

    def store_is_up(self):
        self.begin("ceph-osd", "-i", "0")
        while self.processes[-1].poll() is None:
            if " 1 up" in self.run("ceph", "osd", "stat"):
                return True
            time.sleep(0.5)
        return False

    def start(self):
        places = os.path.join(self.folder, "monmap")
        self.run("monmaptool", "--create", "--clobber", "--fsid", self.fsid, "--addv", "a", "[v1:127.0.0.1:%d]" % self.monitor, places)
        self.run("ceph-mon", "--mkfs", "-i", "a", "--monmap", places)
        self.begin("ceph-mon", "-i", "a")
        self.begin("ceph-mgr", "-i", "a")
        device = str(uuid.uuid4())
        self.run("ceph", "osd", "new", device)
        self.run("ceph-osd", "--mkfs", "-i", "0", "--osd-uuid", device)
        # On a busy machine it has aborted at its start ("wrong fsid"). Without it, the gateways would wait for ever.
        if not any(self.store_is_up() for _ in range(3)):
            raise SystemExit("ceph.py: the store of objects ends at once; see %s" % self.folder)
        ports = [served.free_port(), served.free_port()]
        self.gateway("a", ports[0])
        self.run("radosgw-admin", "user", "create", "--uid=test", "--display-name=test", "--access-key=testkey", "--secret=testsecret")
        self.run(
            "radosgw-admin", "subuser", "create", "--uid=test", "--subuser=test:reader", "--access=read", "--key-type=s3", "--access-key=readkey",
            "--secret=readsecret")
        self.gateway("b", ports[1])
        return ["http://127.0.0.1:%d" % port for port in ports]


def main():
    install()
    if sys.argv[1] == "--install":
        return
    if os.geteuid() != 0:
        print("ceph.py: only root can run it", file=sys.stderr)
        sys.exit(77)
    cluster = Cluster(os.path.abspath(sys.argv[1]))
    try:
        print(" ".join(cluster.start()), flush=True)
        sys.stdin.read()
    finally:
        served.end(cluster.processes)


main()
