"""Runs a program to its end and says what it took."""
import os, re, shutil, subprocess, sys, tempfile, time


class MeasuredRun:
    """One finished program: wall seconds, processor seconds, peak memory of its largest process in MiB, and what it printed, also on standard error."""

    def __init__(self, command, folder, accepts=(0,)):
        # A file, not a pipe: a full pipe would make the program wait for its reader.
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            # What the run before has left in memory would go to the disk at this one's cost.
            os.sync()
            begin = time.monotonic()
            process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=errors)
            _, status, usage = os.wait4(process.pid, 0)
            self.wall = time.monotonic() - begin
            process.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            errors.seek(0)
            self.output = output.read().decode(errors="replace")
            message = self.message = errors.read().decode(errors="replace")
        self.cpu = usage.ru_utime + usage.ru_stime
        self.peak = usage.ru_maxrss / 1024
        if process.returncode not in accepts:
            sys.exit(f"bench: {' '.join(command)} ended with {process.returncode}: {message or self.output}")


def shell(pipeline, folder):
    """Runs a pipeline of the shell; any part that fails fails it."""
    return MeasuredRun(["bash", "-c", "set -eo pipefail; " + pipeline], folder)


def bytes_read(command, folder, beneath):
    """How many bytes a run reads from the files beneath a folder, as strace counts them; None where strace is missing."""
    if not shutil.which("strace"):
        return None
    log = os.path.join(folder, "strace.log")
    MeasuredRun(["strace", "-f", "-qq", "-y", "-e", "trace=read,pread64,readv,preadv,copy_file_range,mmap", "-o", log, *command], folder)
    beneath, total = os.path.realpath(beneath), 0
    with open(log) as lines:
        for line in lines:
            if "<" + beneath + "/" not in line:
                continue
            if " mmap(" in line:
                sys.exit(f"bench: a file of the cloud is mapped, which this does not count: {line}")
            count = re.search(r"= (\d+)$", line)
            total += int(count[1]) if count else 0
    os.remove(log)
    return total
