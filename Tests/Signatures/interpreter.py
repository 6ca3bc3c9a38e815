#!/usr/bin/env python3
"""Prints the path of a Python that has PyPI's cryptography, which it installs into a virtual environment in the user's cache if it is not there.

Exit code 77: it cannot be installed here.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Servers"))
sys.dont_write_bytecode = True

import pypi

VERSION = "48.0.0"
print(os.path.join(pypi.environment("cryptography-" + VERSION, "cryptography==" + VERSION), "bin", "python3"), end="")
