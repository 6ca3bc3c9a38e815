#!/usr/bin/env python3
"""Runs suites under ThreadSanitizer.

    Scripts/sanitize.py "OrderedQueueTests|BlockingCallsTests"

On Linux the sanitizer does not know Swift's `Mutex`, which waits by a system call of its own, and reports each variable behind one. So what it looks at
is a copy of the code whose `Mutex` is made of a mutex of POSIX. Exits with 1 if a test fails, and if the sanitizer has something to report.
"""
import os
import re
import subprocess
import sys

from code_copy import ROOT, refresh

COPY, SCRATCH = ROOT / ".build-sanitize/copy", ROOT / ".build-sanitize/build"
MODULE = "TracedMutex"
# The runtime's own reports end with a line that names the kind and the place.
SUMMARY = re.compile(r"SUMMARY: ThreadSanitizer: (.*)")

SOURCE = """#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// `Mutex` of the module Synchronization, made of a mutex of POSIX.
public struct Mutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private let value: UnsafeMutablePointer<Value>

    public init(_ value: consuming sending Value) {
        lock = .allocate(capacity: 1)
        pthread_mutex_init(lock, nil)
        self.value = .allocate(capacity: 1)
        self.value.initialize(to: value)
    }

    deinit {
        value.deinitialize(count: 1)
        value.deallocate()
        pthread_mutex_destroy(lock)
        lock.deallocate()
    }

    public borrowing func withLock<T: ~Copyable, E: Error>(_ body: (inout sending Value) throws(E) -> sending T) throws(E) -> sending T {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return try body(&value.pointee)
    }
}
"""


def changed():
    """The files whose import is another one, the module that they import then, and the package with that module."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "Sources", "Tests"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout.decode()
    texts, targets = {f"Sources/{MODULE}/Mutex.swift": SOURCE}, set()
    for name in listed.splitlines():
        if not name.endswith(".swift") or not (ROOT / name).is_file(): continue
        text = (ROOT / name).read_text()
        # What is imported by its name hides what comes with a module.
        other = re.sub(r"^((?:\w+ )?import) Synchronization$", rf"\g<0>\n\1 struct {MODULE}.Mutex", text, flags=re.M)
        if other == text: continue
        texts[name] = other
        targets.add(name.split("/")[1])
    names = ", ".join(f'"{name}"' for name in sorted(targets))
    texts["Package.swift"] = (ROOT / "Package.swift").read_text() + f"""
package.targets.append(.target(name: "{MODULE}"))
for target in package.targets where [{names}].contains(target.name) {{ target.dependencies.append("{MODULE}") }}
"""
    return texts


def main():
    refresh(COPY, changed())
    options = ["--sanitize=thread", "--scratch-path", str(SCRATCH)]
    if subprocess.run(["swift", "build", "--build-tests", *options], cwd=COPY).returncode: sys.exit(1)
    environment = dict(os.environ, TSAN_OPTIONS=os.environ.get("TSAN_OPTIONS", "halt_on_error=0 second_deadlock_stack=1"))
    run = subprocess.Popen(["swift", "test", "--skip-build", *options, "--filter", sys.argv[1]], cwd=COPY, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    found = {}
    for line in run.stdout:
        line = line.decode(errors="replace")
        sys.stdout.write(line)
        if match := SUMMARY.match(line): found[match[1]] = found.get(match[1], 0) + 1
    status = run.wait()
    for place, count in sorted(found.items()): print(f"sanitize: {count} times: {place}")
    print(f"sanitize: {sum(found.values())} reports")
    sys.exit(1 if status or found else 0)


if __name__ == "__main__":
    main()
