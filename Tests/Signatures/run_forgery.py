#!/usr/bin/env python3
"""Runs a piece of Python with PyPI's cryptography and the names of forge.py.

    run_forgery.py SCRIPT [ARGUMENT…]     SCRIPT is Python, or a file's name after a @
    run_forgery.py --install              installs cryptography, if it is not there

cryptography comes from PyPI into a virtual environment in the user's cache. Exit code 77: it cannot be installed here.
"""
import os
import subprocess
import sys

VERSION = "46.0.3"
HOME = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "snapsync-tests", "cryptography-" + VERSION)
PYTHON = os.path.join(HOME, "bin", "python3")
DONE = os.path.join(HOME, "installed")


def install():
    if os.path.exists(DONE):
        return
    import fcntl

    os.makedirs(os.path.dirname(HOME), exist_ok=True)
    with open(HOME + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(DONE):
            return
        try:
            subprocess.run([sys.executable, "-m", "venv", HOME], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            subprocess.run([os.path.join(HOME, "bin", "pip"), "install", "-q", "cryptography==" + VERSION], check=True, stdout=subprocess.DEVNULL)
            open(DONE, "w").close()
        except (subprocess.CalledProcessError, OSError) as error:
            print("run_forgery.py: cryptography cannot be installed: %s" % error, file=sys.stderr)
            sys.exit(77)


def main():
    install()
    if sys.argv[1] == "--install":
        return
    here = os.path.dirname(os.path.abspath(__file__))
    script = sys.argv[1]
    words = [os.path.join(here, script[1:])] if script.startswith("@") else ["-c", "from forge import *\n" + script]
    environment = dict(os.environ, PYTHONPATH=here, PYTHONDONTWRITEBYTECODE="1")
    os.execve(PYTHON, [PYTHON] + words + sys.argv[2:], environment)


main()
