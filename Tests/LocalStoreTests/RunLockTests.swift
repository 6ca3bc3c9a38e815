import Foundation
import LocalStore
import LocalTables
import StrictText
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(60))) struct RunLockTests {
    @Test func aSecondHolderInTheSameProcessIsRefused() throws {
        let scratch = try ScratchDirectory()
        let path = scratch.path("app.db")
        do {
            let lock = try RunLock(database: path)
            let error = try #require(throws: SyncError.self) { try RunLock(database: path) }
            #expect(error.database == .running)
            #expect(error.isRetryable)
            // Another database's lock is another one.
            _ = try RunLock(database: scratch.path("other.db"))
            withExtendedLifetime(lock) {}
        }
        _ = try RunLock(database: path)
    }

    @Test(arguments: [false, true]) func aHolderInAnotherProcessKeepsUsOutUntilItEnds(isKilled: Bool) throws {
        let scratch = try ScratchDirectory()
        let path = scratch.path("app.db")
        let holder = try LockHolder(lockFile: RunLock.path(for: path))
        #expect(throws: SyncError.self) { try RunLock(database: path) }
        try holder.end(isKilled: isKilled)
        _ = try RunLock(database: path)
    }

    @Test func ourLockKeepsAnotherProcessOut() throws {
        let scratch = try ScratchDirectory()
        let path = scratch.path("app.db")
        let lock = try RunLock(database: path)
        #expect(throws: LockHolder.NotHeld.self) { try LockHolder(lockFile: RunLock.path(for: path)) }
        withExtendedLifetime(lock) {}
    }

    /// As a program that this process is about to start has it, between fork and exec.
    @Test func aCopyOfTheDescriptorHoldsNoLockOnceItsOwnerHasLetGo() throws {
        let scratch = try ScratchDirectory()
        let path = scratch.path("app.db")
        var copies: [Int32] = []
        defer { copies.forEach { close($0) } }
        do {
            let lock = try RunLock(database: path)
            for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
                guard (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")) == RunLock.path(for: path) else { continue }
                copies.append(dup(try #require(Int32(name))))
            }
            withExtendedLifetime(lock) {}
        }
        #expect(!copies.isEmpty)
        _ = try RunLock(database: path)
    }

    @Test func fileTellsWhenTheLastIdleRunBegan() throws {
        let scratch = try ScratchDirectory()
        let path = scratch.path("app.db"), began = Instant(microseconds: 1_790_000_000_123_456)
        #expect(RunLock.lastIdleRun(of: path) == nil && !RunLock.setLastIdleRun(began, of: path), "there is no lock file")
        _ = try RunLock(database: path)
        #expect(RunLock.lastIdleRun(of: path) == Instant(microseconds: 0), "a new file tells of no run")
        #expect(RunLock.setLastIdleRun(began, of: path) && RunLock.lastIdleRun(of: path) == began)
        _ = try RunLock(database: path)
        #expect(RunLock.lastIdleRun(of: path) == began)
        #expect(!RunLock.setLastIdleRun(Instant(microseconds: -5), of: path))
    }

    @Test func aFolderThatIsNotThereIsNoLock() throws {
        let scratch = try ScratchDirectory()
        let error = try #require(throws: SyncError.self) { try RunLock(database: scratch.path("none/app.db")) }
        #expect(error.database == .inputOutput)
    }
}

/// Another process that takes the lock with its own system call, says so, and holds it until it is ended.
private final class LockHolder {
    struct NotHeld: Error {}
    private let scratch: ScratchDirectory
    private let program: RunningProgram

    /// Both sides talk through pipes with names: opening one waits for the other side.
    private static let script = """
        import fcntl, os, signal, struct, sys
        fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.fcntl(fd, 37, struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 0, 0))
            answer = 'held'
        except OSError:
            answer = 'refused'
        with open('answer', 'w') as out: out.write(answer)
        if answer == 'held':
            with open('order') as orders: order = orders.read()
            if order == 'die': os.kill(os.getpid(), signal.SIGKILL)
        """

    init(lockFile: String) throws {
        scratch = try ScratchDirectory()
        for name in ["answer", "order"] { mkfifo(scratch.path(name), 0o600) }
        program = try RunningProgram("python3", ["-c", Self.script, lockFile], in: scratch.path)
        guard try FileHandle(forReadingAtPath: scratch.path("answer"))?.readToEnd() == Data("held".utf8) else {
            _ = try program.wait()
            throw NotHeld()
        }
    }

    func end(isKilled: Bool) throws {
        let order = try #require(FileHandle(forWritingAtPath: scratch.path("order")))
        try order.write(contentsOf: Data((isKilled ? "die" : "end").utf8))
        try order.close()
        #expect(try program.wait().status == (isKilled ? -SIGKILL : 0))
    }
}
