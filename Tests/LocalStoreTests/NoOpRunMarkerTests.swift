import Foundation
import LocalStore
import StrictText
import TestSupport
import Testing

/// The times of the lock file tell of a run that had nothing to do, and of nothing else.
@Suite struct NoOpRunMarkerTests {
    private let scratch: ScratchDirectory
    private let database: String
    private let run = RunRecord(at: Instant(microseconds: 1_790_000_000_123_456), microseconds: 7890)

    init() throws {
        scratch = try ScratchDirectory()
        database = scratch.path("idle.db")
    }

    private func stamp(_ hash: String = "ab", _ kind: RunKind = .export) -> NoOpRunMarker {
        NoOpRunMarker(database: database, version: AppliedVersion(number: 3, hash: hash), kind: kind)
    }

    /// Sets the lock file's times, in nanoseconds.
    private func touch(accessed: Int, modified: Int) {
        let times = [accessed, modified].map { timespec(tv_sec: $0 / 1_000_000_000, tv_nsec: $0 % 1_000_000_000) }
        #expect(utimensat(AT_FDCWD, RunLock.path(for: database), times, 0) == 0)
    }

    private func modified() throws -> Int {
        var facts = stat()
        try #require(lstat(RunLock.path(for: database), &facts) == 0)
        return facts.st_mtim.tv_sec * 1_000_000_000 + facts.st_mtim.tv_nsec
    }

    @Test func noteIsReadBackAsItWasLeft() throws {
        #expect(stamp().read() == nil && !stamp().write(run), "there is no lock file")
        _ = try RunLock(database: database)
        #expect(stamp().read() == nil)
        #expect(stamp().write(run))
        let found = try #require(stamp().read())
        #expect(found.at == run.at && found.microseconds == run.microseconds)
        #expect(try FileManager.default.attributesOfItem(atPath: RunLock.path(for: database))[.size] as? Int == 0)
        // The next run's lock leaves the note where it is.
        _ = try RunLock(database: database)
        #expect(stamp().read()?.at == run.at)
    }

    @Test func noteOfAnotherVersionOrDirectionIsNone() throws {
        _ = try RunLock(database: database)
        #expect(stamp().write(run))
        let others = (0..<200).map { stamp("cd\($0)") } + [stamp("ab", .import)]
        // Three digits: a few in a thousand are the same by chance; none of these is, and the function is fixed.
        #expect(others.count { $0.read() != nil } <= 1)
    }

    @Test func whateverElseTouchesTheFileLeavesNoNote() throws {
        _ = try RunLock(database: database)
        #expect(stamp().write(run))
        let time = try modified()
        touch(accessed: time, modified: time + 1)
        #expect(stamp().read() == nil)
        // A copy with whole seconds, or whole microseconds.
        for coarse in [1_000_000_000, 1000] where time % coarse != 0 {
            touch(accessed: time / coarse * coarse, modified: time / coarse * coarse)
            #expect(stamp().read() == nil)
        }
        // A program that reads the file changes the time of access alone: when the run ended is still known.
        touch(accessed: time + 1, modified: time)
        #expect(try #require(stamp().read()).microseconds == nil)
        try Data("x".utf8).write(to: URL(fileURLWithPath: RunLock.path(for: database)))
        touch(accessed: time, modified: time)
        #expect(stamp().read() == nil)
    }

    @Test func timesThatNoFileCanHaveAreRefused() throws {
        _ = try RunLock(database: database)
        #expect(!stamp().write(RunRecord(at: Instant(microseconds: -5), microseconds: 1)))
        #expect(!stamp().write(RunRecord(at: run.at, microseconds: -1)))
    }
}
