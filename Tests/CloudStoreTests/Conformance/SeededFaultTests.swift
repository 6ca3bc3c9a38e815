import CloudStore
import CloudStoreConformance
import CommitLog
import Testing

/// The public suite finds every fault that is built in on purpose, and says so in the check that is there for it.
struct SeededFaultTests {
    @Test(arguments: CloudFault.allCases)
    func theFaultIsFound(_ fault: CloudFault) async throws {
        let report = await CloudConformance { FaultyCloudDatabase(fault) }.run()
        let failed = report.failures.map(\.check)
        #expect(failed.contains(fault.revealingCheck), "\(report)")
        #expect(throws: ConformanceFailure.self) { try report.verify() }
    }

    @Test func aCloudWithoutFaultsPasses() async throws {
        let report = await CloudConformance { MemoryCloudDatabase() }.run()
        #expect(report.isPassed, "\(report)")
        #expect(report.checkCount > 50)
        try report.verify()
        #expect(report.description.hasSuffix("\(report.checkCount) of \(report.checkCount) promises kept"))
    }

    @Test func checksHaveNamesOfTheirOwn() {
        #expect(Set(CloudConformance.checks.map(\.name)).count == CloudConformance.checks.count)
    }

    @Test func aCloudThatCannotBeMadeIsReported() async {
        let report = await CloudConformance(makeCloud: { throw CloudError(.cloudUnavailable, at: "cloud", "no such place") }).run()
        #expect(report.failures.count == report.checkCount)
    }
}
