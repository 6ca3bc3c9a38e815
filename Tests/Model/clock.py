"""Clocks that stand still, for the built command: a library that is loaded before it (clock.c)."""
import os
import subprocess

SECOND = 1_000_000
HOUR = 3600 * SECOND


def build(folder):
    """Compiles the library and returns its path."""
    source, target = os.path.join(os.path.dirname(os.path.abspath(__file__)), "clock.c"), os.path.join(folder, "clock.so")
    for compiler in ("cc", "clang", "gcc"):
        try:
            subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", target, source], check=True)
            return target
        except FileNotFoundError:
            continue
    raise SystemExit("no C compiler (cc, clang or gcc) for clock.c; hint: install one")
