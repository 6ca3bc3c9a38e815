import CloudStore
import StrictText
import Testing

/// Every backend keeps the newest report of each device.
@Suite(.serialized) struct ReportContractTests {
    private func report(_ device: String, _ number: Int?, role: String = "reader", at clock: Instant) -> DeviceReport {
        let token = number.map { ChangeToken(number: $0, hash: String(repeating: "a", count: 64)) }
        return DeviceReport(device: device, role: role, token: token, clock: clock)
    }

    @Test(arguments: Backend.allCases)
    func theNewestReportOfEachDeviceIsKept(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let now = Instant.now
        #expect(try await test.cloud.deviceReports(in: .standard).isEmpty)
        for report in [report("watch", nil, at: now), report("phone", 1, at: now), report("phone", 2, at: now)] {
            try await test.cloud.report(report, in: .standard)
        }
        #expect(try await test.cloud.deviceReports(in: .standard) == [report("phone", 2, at: now), report("watch", nil, at: now)])
    }

    @Test(arguments: Backend.allCases)
    func aReportIsKeptOnlyIfItIsNews(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let now = Instant.now, day: Int64 = 86_400_000_000
        let first = report("phone", 1, at: now)
        try await test.cloud.report(first, in: .standard)
        try await test.cloud.report(report("phone", 1, at: now.advanced(byMicroseconds: day - 1)), in: .standard)
        #expect(try await test.cloud.deviceReports(in: .standard) == [first])
        for news in [
            report("phone", 1, at: now.advanced(byMicroseconds: day)), report("phone", 1, role: "peer", at: now), report("phone", nil, role: "peer", at: now),
        ] {
            try await test.cloud.report(news, in: .standard)
            #expect(try await test.cloud.deviceReports(in: .standard) == [news])
        }
    }

    @Test(arguments: Backend.allCases)
    func aTokenThatIsNoneIsRefused(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let bad = DeviceReport(device: "phone", role: "reader", token: ChangeToken(number: 1, hash: "x"), clock: .now)
        await expectCloudError(.invalidArguments) { try await test.cloud.report(bad, in: .standard) }
    }
}
