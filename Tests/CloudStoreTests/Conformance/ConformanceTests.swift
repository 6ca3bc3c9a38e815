import CloudStore
import CloudStoreConformance
import Testing

/// Both backends keep every promise of the public suite.
struct ConformanceTests {
    @Test(arguments: [Backend.memory, .directory], CloudConformance.checks)
    func theBackendKeepsThePromise(_ backend: Backend, _ check: ConformanceCheck) async throws {
        // The directory of a cloud under test lives as long as the thing that made it.
        let kept = Kept()
        let conformance = CloudConformance {
            // Not about a disk, and hundreds of commits: a file system in memory, where there is one.
            let test: any CloudUnderTest = backend == .memory ? MemoryUnderTest() : try DirectoryUnderTest(inMemory: true)
            await kept.keep(test)
            return test.cloud
        }
        try await conformance.run(check)
    }
}

actor Kept {
    private var tests: [any CloudUnderTest] = []
    func keep(_ test: any CloudUnderTest) { tests.append(test) }
}
