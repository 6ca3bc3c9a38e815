#!/usr/bin/env python3
"""Four peers that publish without pause through two gateways of one store: two_gateways.py COMMAND seaweedfs|ceph [EDITS]

Each peer makes 200 edits, or EDITS, each published by a `snapsync sync` of its own; peers 0 and 2 use one gateway, peers 1 and 3 the other.
Ends with 1 if a sync failed or peers differ in the end (Scripts/contention.py), with 77 where the store cannot run.
"""
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import s3

FOLDER = os.path.dirname(os.path.abspath(__file__))
CONTENTION = os.path.join(os.path.dirname(os.path.dirname(FOLDER)), "Scripts", "contention.py")
KEYS = {"AWS_ACCESS_KEY_ID": "testkey", "AWS_SECRET_ACCESS_KEY": "testsecret", "AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": "us-east-1"}


def main():
    command, name, edits = sys.argv[1], sys.argv[2], (sys.argv + ["200"])[3]
    with tempfile.TemporaryDirectory(prefix="snapsync-" + name + "-") as folder:
        words = [sys.executable, os.path.join(FOLDER, name + ".py"), folder] + (["2"] if name == "seaweedfs" else [])
        server = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            endpoints = server.stdout.readline().split()
            if len(endpoints) != 2:
                sys.exit(server.wait() or 1)
            s3.Bucket(endpoints[0], "gateways").make()
            one, other = ("s3://gateways/app?endpoint=" + endpoint for endpoint in endpoints)
            line = [sys.executable, CONTENTION, command, "--peers", "4", "--edits", edits, "--location", one, "--other", other]
            status = subprocess.run(line, env=dict(os.environ, **KEYS)).returncode
            commits = [key for key in s3.Bucket(endpoints[1], "gateways").keys("app/") if "/commits/" in key]
            print("%d commits in %s, through two gateways" % (len(commits), name))
        finally:
            server.stdin.close()
            server.wait()
    sys.exit(status)


main()
