#!/usr/bin/env python3
"""Runs a piece of Python with PyPI's cryptography and the names of forge.py.

    run_forgery.py SCRIPT [ARGUMENT…]     SCRIPT is Python, or a file's name after a @; it can import sealed (Tests/Sealed)
    run_forgery.py --install              installs cryptography, if it is not there

cryptography comes from PyPI into a virtual environment in the user's cache. Exit code 77: it cannot be installed here.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "Servers"))
sys.dont_write_bytecode = True

import pypi

VERSION = "48.0.0"


def main():
    python = os.path.join(pypi.environment("cryptography-" + VERSION, "cryptography==" + VERSION), "bin", "python3")
    if sys.argv[1] == "--install":
        return
    script = sys.argv[1]
    words = [os.path.join(HERE, script[1:])] if script.startswith("@") else ["-c", "from forge import *\n" + script]
    environment = dict(os.environ, PYTHONPATH=HERE + os.pathsep + os.path.join(os.path.dirname(HERE), "Sealed"), PYTHONDONTWRITEBYTECODE="1")
    os.execve(python, [python] + words + sys.argv[2:], environment)


main()
