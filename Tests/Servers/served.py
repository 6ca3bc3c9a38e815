"""Runs a server of the tests until standard input ends."""
import glob
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def answers(process, endpoint):
    """Waits until something answers; False if the process ends before that."""
    while process.poll() is None:
        try:
            urllib.request.urlopen(endpoint + "/status", timeout=5).read()
            return True
        except urllib.error.HTTPError:
            return True
        except OSError:
            time.sleep(0.2)
    return False


def end(processes):
    """Ends processes that this program has started, the last one first. Nobody wants their data any longer, so none gets time to close its files:
    SeaweedFS would take half a minute."""
    for process in reversed(processes):
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def remove(folder, names):
    """Removes what a server left: those names in its folder, and the folder if nothing else is in it."""
    for path in [path for name in names for path in glob.glob(os.path.join(folder, name))]:
        shutil.rmtree(path, ignore_errors=True) if os.path.isdir(path) else os.remove(path)
    try:
        os.rmdir(folder)
    except OSError:
        pass


def serve(folder, *programs, made=()):
    """Starts programs, each with the endpoint where it answers, one after another; prints the endpoints; ends all with standard input. Log: FOLDER/log.
    Then the log and `made`, other names in the folder, are removed."""
    processes = []
    try:
        with open(os.path.join(folder, "log"), "w") as log:
            for words, endpoint in programs:
                processes.append(subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL))
                if not answers(processes[-1], endpoint):
                    sys.exit("%s: the server ended at once; see %s/log" % (os.path.basename(sys.argv[0]), folder))
        print(" ".join(endpoint for _, endpoint in programs), flush=True)
        sys.stdin.read()
    finally:
        end(processes)
    remove(folder, ("log", *made))
