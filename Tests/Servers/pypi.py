"""Packages from PyPI for tests, each in a virtual environment of its own in the user's cache."""
import fcntl
import os
import subprocess
import sys


def environment(name, *requirements):
    """The folder of a virtual environment with packages; it is made at the first call. Ends the program with 77 if that is not possible here.

    `name` is the folder's name, `requirements` what pip installs.
    """
    home = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "snapsync-tests", name)
    done = os.path.join(home, "installed")
    if os.path.exists(done):
        return home
    os.makedirs(os.path.dirname(home), exist_ok=True)
    with open(home + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(done):
            return home
        try:
            subprocess.run([sys.executable, "-m", "venv", home], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            subprocess.run([os.path.join(home, "bin", "pip"), "install", "-q", *requirements], check=True, stdout=subprocess.DEVNULL)
            open(done, "w").close()
        except (subprocess.CalledProcessError, OSError) as error:
            print("%s cannot be installed: %s" % (" ".join(requirements), error), file=sys.stderr)
            sys.exit(77)
    return home
