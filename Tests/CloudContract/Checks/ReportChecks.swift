import CloudStore
import StrictText

extension ContractCheck {
    /// The reports of what each device last applied.
    static let reports: [ContractCheck] = [
        ContractCheck("theNewestReportOfEachDeviceIsKept") { test in
            try await test.makeZone(.one)
            let now = Instant.now
            try await test.expectReports([], line: #line)
            for report in [test.report("watch", nil, at: now), test.report("phone", 1, at: now), test.report("phone", 2, at: now)] {
                try await test.send(report)
            }
            try await test.expectReports([test.report("phone", 2, at: now), test.report("watch", nil, at: now)], line: #line)
        },
        ContractCheck("aReportIsKeptOnlyIfItIsNews") { test in
            try await test.makeZone(.one)
            let now = Instant.now, day: Int64 = 86_400_000_000
            let first = test.report("phone", 1, at: now)
            try await test.send(first)
            try await test.send(test.report("phone", 1, at: now.advanced(byMicroseconds: day - 1)))
            try await test.expectReports([first], line: #line)
            for news in [
                test.report("phone", 1, at: now.advanced(byMicroseconds: day)), test.report("phone", 1, role: "peer", at: now),
                test.report("phone", nil, role: "peer", at: now),
            ] {
                try await test.send(news)
                try await test.expectReports([news], line: #line)
            }
        },
        ContractCheck("aReportWithAnImpossibleTokenIsRefused") { test in
            try await test.makeZone(.one)
            let bad = DeviceReport(device: "phone", role: "reader", token: ChangeToken(number: 1, hash: "x"), clock: .now)
            try await test.expect(.invalidArguments, "a report") { try await test.send(bad) }
        },
        ContractCheck("aReportWithABadNameIsRefused") { test in
            try await test.makeZone()
            for name in ContractCheck.badNames {
                for report in [
                    DeviceReport(device: name, role: "reader", token: nil, clock: .now), DeviceReport(device: "d", role: name, token: nil, clock: .now),
                ] { try await test.expect(.invalidArguments, "a report") { try await test.send(report) } }
            }
        },
    ]
}

extension ContractTest {
    fileprivate func report(_ device: String, _ number: Int?, role: String = "reader", at clock: Instant) -> DeviceReport {
        let token = number.map { ChangeToken(number: $0, hash: String(repeating: "a", count: 64)) }
        return DeviceReport(device: device, role: role, token: token, clock: clock)
    }

    fileprivate func send(_ report: DeviceReport) async throws { try await cloud.report(report, in: ContractTest.zone) }

    fileprivate func expectReports(_ reports: [DeviceReport], line: Int) async throws {
        try expect(try await cloud.deviceReports(in: ContractTest.zone), is: reports, "the reports", line: line)
    }
}
