#!/usr/bin/env python3
"""Runs moto, a simulator of AWS, as seaweedfs.py runs SeaweedFS. From PyPI (moto[server]). Any credentials are taken.

moto looks for the key of a conditional PUT and stores the object afterwards, without a lock. As it comes it loses a race of 16 writers in one of ten
rounds; here it waits 50 ms between the two, so that each race has several winners.
"""
import os
import sys

sys.dont_write_bytecode = True

import pypi
import served

VERSION = "5.2.5"

SLOWER = """
import sys, time
from moto.s3.models import S3Backend
from moto.server import main
store = S3Backend.put_object
def put_object(*words, **options):
    time.sleep(0.05)
    return store(*words, **options)
S3Backend.put_object = put_object
main(["-H", "127.0.0.1", "-p", sys.argv[1]])
"""


def main():
    home = pypi.environment("moto-" + VERSION, "moto[server,s3]==" + VERSION)
    if sys.argv[1] == "--install":
        return
    port = served.free_port()
    served.serve(sys.argv[1], ([os.path.join(home, "bin", "python3"), "-I", "-c", SLOWER, str(port)], "http://127.0.0.1:%d" % port))


main()
