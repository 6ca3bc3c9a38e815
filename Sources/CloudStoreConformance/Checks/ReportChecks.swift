import CloudStore
import StrictText

extension ConformanceCheck {
    /// The reports of what each device last applied.
    static let reports: [ConformanceCheck] = [
        ConformanceCheck("reportsAreKeptForEachDevice", .mailbox) { trial in
            try await trial.makeZone()
            let token = try await trial.publish([trial.item(1)], after: nil)
            for (device, role) in [("phone", "reader"), ("desk", "writer"), ("phone", "peer")] {
                try await trial.mailbox.report(DeviceReport(device: device, role: role, token: token, clock: .now), in: ConformanceContext.zone)
            }
            let reports = try await trial.mailbox.deviceReports(in: ConformanceContext.zone)
            try trial.expect(reports.map(\.device), is: ["desk", "phone"], "the devices")
            try trial.expect(reports.map(\.role), is: ["writer", "peer"], "their newest roles")
            try trial.expect(reports.allSatisfy { $0.token == token }, "a report's token is not the one that was given")
        },
        ConformanceCheck("theNewestReportOfEachDeviceIsKept", .mailbox) { trial in
            try await trial.makeZone(.one)
            let now = Instant.now
            try await trial.expectReports([], line: #line)
            for report in [trial.report("watch", nil, at: now), trial.report("phone", 1, at: now), trial.report("phone", 2, at: now)] {
                try await trial.send(report)
            }
            try await trial.expectReports([trial.report("phone", 2, at: now), trial.report("watch", nil, at: now)], line: #line)
        },
        ConformanceCheck("aReportIsKeptOnlyIfItIsNews", .mailbox) { trial in
            try await trial.makeZone(.one)
            let now = Instant.now, day: Int64 = 86_400_000_000
            let first = trial.report("phone", 1, at: now)
            try await trial.send(first)
            try await trial.send(trial.report("phone", 1, at: now.advanced(byMicroseconds: day - 1)))
            try await trial.expectReports([first], line: #line)
            for news in [
                trial.report("phone", 1, at: now.advanced(byMicroseconds: day)), trial.report("phone", 1, role: "peer", at: now),
                trial.report("phone", nil, role: "peer", at: now),
            ] {
                try await trial.send(news)
                try await trial.expectReports([news], line: #line)
            }
        },
        ConformanceCheck("aReportWithAnImpossibleTokenIsRefused", .mailbox) { trial in
            try await trial.makeZone(.one)
            let bad = DeviceReport(device: "phone", role: "reader", token: ChangeToken(number: 1, hash: "x"), clock: .now)
            try await trial.expect(.invalidArguments, "a report") { try await trial.send(bad) }
        },
        ConformanceCheck("aReportWithABadNameIsRefused", .mailbox) { trial in
            try await trial.makeZone()
            for name in ConformanceCheck.badNames {
                for report in [
                    DeviceReport(device: name, role: "reader", token: nil, clock: .now), DeviceReport(device: "d", role: name, token: nil, clock: .now),
                ] { try await trial.expect(.invalidArguments, "a report") { try await trial.send(report) } }
            }
        },
    ]
}

extension ConformanceContext {
    fileprivate func report(_ device: String, _ number: Int?, role: String = "reader", at clock: Instant) -> DeviceReport {
        let token = number.map { ChangeToken(number: $0, hash: String(repeating: "a", count: 64)) }
        return DeviceReport(device: device, role: role, token: token, clock: clock)
    }

    fileprivate func send(_ report: DeviceReport) async throws { try await mailbox.report(report, in: ConformanceContext.zone) }

    fileprivate func expectReports(_ reports: [DeviceReport], line: Int) async throws {
        try expect(try await mailbox.deviceReports(in: ConformanceContext.zone), is: reports, "the reports", line: line)
    }
}
