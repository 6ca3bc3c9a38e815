import StrictText
import TestSupport
import Testing

@testable import SnapshotTools
@testable import SnapshotVersions

@Suite struct CronTimeTests {
    /// The minutes of a day at which cron runs a line, by a reader of its own.
    private func minutes(_ fields: String) throws -> [Int] {
        let text = try Python.run(
            """
            import sys
            def values(field, end):
                part, _, step = field.partition('/')
                low, high = (0, end) if part == '*' else (map(int, part.split('-')) if '-' in part else (int(part), int(part)))
                return range(low, high + 1, int(step or 1))
            minute, hour, *rest = sys.argv[1].split()
            assert rest == ['*', '*', '*'], rest
            print(*[h * 60 + m for h in values(hour, 23) for m in values(minute, 59)])
            """, [fields])
        return text.split { $0.isWhitespace }.compactMap { Int($0) }
    }

    @Test(arguments: [1, 2, 5, 15, 30, 60, 120, 180, 720, 1440], [UInt64(0), 7, 12_345_678_901_234_567_890])
    func runsComeEvenlyAllDay(interval: Int, seed: UInt64) throws {
        let times = try minutes(CronTime(seconds: interval * 60, seed: seed).fields)
        #expect(times.count == 1440 / interval)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 == interval })
        #expect(times.first.map { (0..<interval).contains($0) } == true)
    }

    @Test func databasesHaveMomentsOfTheirOwn() throws {
        let fields = Set(
            try (0..<100).map { number in
                let plan = SchedulePlan(
                    program: "/bin/snapsync", database: "/a.db", device: "device\(number)", cloudUUID: "cloud", seconds: 900, options: [], restoreCheck: nil)
                return try CronTime(seconds: 900, seed: plan.seed).fields
            })
        #expect(fields.count == 15)
        let pauses = Set(try (0..<100).map { try CronTime(seconds: 60, seed: $0).pause })
        #expect(pauses == Set(0..<30))
    }

    @Test(arguments: [(30, "1m"), (90, "1m and 2m"), (420, "6m and 10m"), (2700, "30m and 1h"), (18000, "4h and 6h"), (172_800, "24h"), (3601, "1h and 2h")])
    func unevenIntervalsAreRefusedWithTheNearestEvenOnes(seconds: Int, nearest: String) throws {
        let error = #expect(throws: SyncError.self) { try CronTime(seconds: seconds, seed: 1) }
        #expect(error?.code == .refused)
        #expect(error?.hint?.contains(" \(nearest);") == true, "\(error?.hint ?? "")")
    }

    @Test func pathsWithControlCharactersAreRefused() throws {
        for scheduler in [Scheduler.cron, .systemd] {
            let plan = SchedulePlan(program: "/bin/snapsync", database: "/a\nb.db", device: "d", cloudUUID: "c", seconds: 900, options: [], restoreCheck: nil)
            #expect(throws: SyncError.self) { try plan.report(for: scheduler) }
        }
    }
}
