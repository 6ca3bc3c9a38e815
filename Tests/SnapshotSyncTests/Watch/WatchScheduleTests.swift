import StrictText
import Testing

@testable import SnapshotVersions
@testable import SnapshotWatch

/// The rules of a watch on a made-up clock.
@Suite struct WatchScheduleTests {
    private let options = WatchOptions(poll: .seconds(30), debounce: .milliseconds(20), maximumDelay: .seconds(1))

    /// A schedule whose first run has ended well at time 0.
    private func settled() -> WatchSchedule {
        var schedule = WatchSchedule(options)
        schedule.begins()
        schedule.succeeded(at: .zero, jitter: 0.5)
        return schedule
    }

    @Test func beginsWithASyncAndThenWaitsForThePoll() {
        #expect(WatchSchedule(options).step(at: .zero) == .sync(.start))
        let schedule = settled()
        #expect(schedule.step(at: .seconds(1)) == .wait(until: .seconds(30)))
        #expect(schedule.step(at: .seconds(30)) == .sync(.poll))
    }

    @Test func pollsOfDevicesThatBeganTogetherDrift() {
        var early = settled(), late = settled()
        early.succeeded(at: .zero, jitter: 0)
        late.succeeded(at: .zero, jitter: 1)
        #expect(early.step(at: .milliseconds(26_999)) != .sync(.poll) && early.step(at: .milliseconds(27_001)) == .sync(.poll))
        #expect(late.step(at: .milliseconds(32_999)) != .sync(.poll) && late.step(at: .milliseconds(33_001)) == .sync(.poll))
    }

    @Test func firstCommitAfterAQuietTimeIsTakenAtOnce() {
        var schedule = settled()
        // The run with which the watch began is no reason to wait.
        schedule.databaseWritten(at: .milliseconds(10), mayBeCommit: true)
        #expect(schedule.step(at: .milliseconds(10)) == .look)
        schedule = settled()
        schedule.databaseWritten(at: .milliseconds(100), mayBeCommit: true)
        #expect(schedule.step(at: .milliseconds(100)) == .look)
        schedule.looked(found: true, at: .milliseconds(100))
        #expect(schedule.step(at: .milliseconds(100)) == .sync(.database))
    }

    @Test func commitsDuringARunAndSoonAfterItAreOneMore() {
        var schedule = settled()
        schedule.databaseWritten(at: .milliseconds(100), mayBeCommit: true)
        schedule.looked(found: true, at: .milliseconds(100))
        schedule.begins()
        // What came during the run is noted when it has ended.
        schedule.succeeded(at: .milliseconds(110), jitter: 0.5)
        for time in [110, 115, 128, 131] {
            schedule.databaseWritten(at: .milliseconds(time), mayBeCommit: true)
            #expect(schedule.step(at: .milliseconds(time)) == .wait(until: .milliseconds(time + 20)))
        }
        #expect(schedule.step(at: .milliseconds(151)) == .look)
        schedule.looked(found: true, at: .milliseconds(151))
        #expect(schedule.step(at: .milliseconds(151)) == .sync(.database))
        schedule.begins()
        schedule.succeeded(at: .milliseconds(160), jitter: 0.5)
        schedule.databaseWritten(at: .milliseconds(180), mayBeCommit: true)
        #expect(schedule.step(at: .milliseconds(180)) == .look)
    }

    @Test func writesOfTheRunItselfDoNotDelayTheNextCommit() {
        var schedule = settled()
        schedule.cloudChanged()
        schedule.begins()
        schedule.succeeded(at: .milliseconds(100), jitter: 0.5)
        schedule.databaseWritten(at: .milliseconds(100), mayBeCommit: true)
        #expect(schedule.step(at: .milliseconds(100)) == .wait(until: .milliseconds(120)))
        schedule.looked(found: false, at: .milliseconds(120))
        schedule.databaseWritten(at: .milliseconds(125), mayBeCommit: true)
        #expect(schedule.step(at: .milliseconds(125)) == .look)
    }

    /// SQLite has written the log, and syncs it before the commit is visible.
    @Test func commitThatIsNotVisibleYetIsLookedForAgainSoon() {
        var schedule = settled(), time = Duration.seconds(1), looks: [Duration] = []
        schedule.databaseWritten(at: time, mayBeCommit: true)
        while looks.count < 7 {
            switch schedule.step(at: time) {
            case .look:
                looks.append(time - .seconds(1))
                schedule.looked(found: false, at: time)
            case .wait(let until): time = until
            case .sync(let cause): return #expect(Bool(false), "a sync for \(cause)")
            }
        }
        #expect(looks == [0, 1, 3, 7, 15, 20, 40].map { .milliseconds($0) })
    }

    /// A transaction that writes for a long time costs a few looks a second, not one for each write.
    @Test func longTransactionIsLookedAtRarely() {
        var schedule = settled(), time = Duration.zero, looks = 0
        while time < .seconds(10) {
            schedule.databaseWritten(at: time, mayBeCommit: true)
            if schedule.step(at: time) == .look {
                looks += 1
                schedule.looked(found: false, at: time)
            }
            time += .milliseconds(1)
        }
        #expect(looks <= 120, "\(looks) looks in 10 s")
    }

    @Test func writeThatEndsNoTransactionWaitsForTheDebounce() {
        var schedule = settled()
        schedule.databaseWritten(at: .milliseconds(100), mayBeCommit: false)
        #expect(schedule.step(at: .milliseconds(100)) == .wait(until: .milliseconds(120)))
        schedule.databaseWritten(at: .milliseconds(105), mayBeCommit: true)
        #expect(schedule.step(at: .milliseconds(105)) == .look)
    }

    @Test func burstOfWritesIsOneLook() {
        var schedule = settled()
        for time in [100, 110, 125, 130] { schedule.databaseWritten(at: .milliseconds(time), mayBeCommit: false) }
        #expect(schedule.step(at: .milliseconds(131)) == .wait(until: .milliseconds(150)))
        #expect(schedule.step(at: .milliseconds(150)) == .look)
        schedule.looked(found: true, at: .milliseconds(150))
        #expect(schedule.step(at: .milliseconds(150)) == .sync(.database))
    }

    @Test func steadyStreamOfWritesDoesNotPutTheSyncOffForEver() {
        var schedule = settled()
        var time = Duration.milliseconds(500)
        while time < .seconds(10), schedule.step(at: time) != .look {
            schedule.databaseWritten(at: time, mayBeCommit: false)
            time += .milliseconds(5)
        }
        #expect(time == .milliseconds(1500))
    }

    @Test func commitThatBecomesVisibleLateIsFoundByLookingAgain() {
        var schedule = settled()
        schedule.databaseWritten(at: .zero, mayBeCommit: false)
        var time = Duration.milliseconds(20), looks: [Duration] = []
        while true {
            switch schedule.step(at: time) {
            case .look:
                looks.append(time)
                schedule.looked(found: false, at: time)
            case .wait(let until): time = until
            case .sync(let cause):
                #expect(cause == .poll)
                #expect(looks.count == 9 && looks.prefix(4) == [.milliseconds(20), .milliseconds(40), .milliseconds(80), .milliseconds(160)])
                #expect(looks.last.map { $0 > .seconds(5) } == true, "looked last at \(looks.last ?? .zero)")
                return
            }
        }
    }

    @Test func commitOfAnotherDeviceIsTakenAtOnce() {
        var schedule = settled()
        schedule.cloudChanged()
        #expect(schedule.step(at: .seconds(2)) == .sync(.cloud))
        schedule.begins()
        schedule.succeeded(at: .seconds(2), jitter: 0.5)
        #expect(schedule.step(at: .seconds(2)) == .wait(until: .seconds(32)))
    }

    @Test func whatHappensDuringARunIsNotForgotten() {
        var schedule = settled()
        schedule.cloudChanged()
        schedule.begins()
        schedule.cloudChanged()
        schedule.databaseWritten(at: .seconds(1), mayBeCommit: true)
        schedule.succeeded(at: .seconds(2), jitter: 0.5)
        #expect(schedule.step(at: .seconds(2)) == .sync(.cloud))
    }

    @Test func retriesSlowDownUpToThePoll() {
        var schedule = settled(), time = Duration.zero, pauses: [Duration] = []
        for _ in 0..<12 {
            schedule.begins()
            schedule.failed(retrying: true, at: time, jitter: 1)
            guard case .wait(let until) = schedule.step(at: time) else { return #expect(Bool(false), "no wait") }
            pauses.append(until - time)
            time = until
            #expect(schedule.step(at: time) == .sync(.retry))
        }
        #expect(pauses.prefix(4) == [.milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(800)])
        #expect(pauses.last == .seconds(30))
        schedule.failed(retrying: true, at: time, jitter: 0)
        #expect(schedule.step(at: time) == .wait(until: time + .seconds(15)))
    }

    @Test func writesDoNotHurryARunThatFails() {
        var schedule = settled()
        schedule.begins()
        schedule.failed(retrying: false, at: .zero, jitter: 1)
        schedule.databaseWritten(at: .seconds(1), mayBeCommit: true)
        schedule.cloudChanged()
        #expect(schedule.step(at: .seconds(29)) == .wait(until: .seconds(30)))
        #expect(schedule.step(at: .seconds(30)) == .sync(.cloud))
    }

    @Test func directoryThatComesBackEndsTheWaiting() {
        var schedule = settled()
        for _ in 0..<10 {
            schedule.begins()
            schedule.failed(retrying: true, at: .zero, jitter: 1)
        }
        schedule.cloudMoved(at: .seconds(3))
        #expect(schedule.step(at: .seconds(4)) == .sync(.cloud))
    }
}

/// What of a watch's failures is told.
@Suite struct WatchNewsTests {
    private func error(_ code: SyncError.Code, _ reason: String = "reason") -> SyncError { SyncError(code, at: "place", reason) }
    private func isReported(_ event: WatchEvent?) -> Bool { event != nil }

    @Test func errorIsToldOnceAndItsEndToo() {
        var news = WatchNews()
        #expect(isReported(news.failed(error(.cloudUnavailable), at: .seconds(1))))
        #expect(!isReported(news.failed(error(.cloudUnavailable), at: .seconds(2))))
        #expect(isReported(news.failed(error(.refused), at: .seconds(3))))
        #expect(isReported(news.failed(error(.refused, "another"), at: .seconds(4))))
        #expect(isReported(news.succeeded()))
        #expect(!isReported(news.succeeded()))
        #expect(isReported(news.failed(error(.refused, "another"), at: .seconds(5))))
    }

    @Test func runThatIsPutOffIsToldOnlyWhenItLasts() {
        var news = WatchNews()
        #expect(!isReported(news.failed(error(.tryAgainLater), at: .seconds(1))))
        #expect(!isReported(news.succeeded()))
        #expect(!isReported(news.failed(error(.tryAgainLater), at: .seconds(100))))
        #expect(!isReported(news.failed(error(.tryAgainLater), at: .seconds(109))))
        #expect(isReported(news.failed(error(.tryAgainLater), at: .seconds(111))))
    }
}
