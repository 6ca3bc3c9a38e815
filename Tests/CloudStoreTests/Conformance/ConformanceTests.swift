import CloudStore
import CloudStoreConformance
import DirectoryCloud
import Testing

/// Both backends keep every promise of the public suite, the directory also with the calls of POSIX alone.
struct ConformanceTests {
    @Test(arguments: [Backend.memory, .directory, .directoryPOSIX], CloudConformance.checks)
    func theBackendKeepsThePromise(_ backend: Backend, _ check: ConformanceCheck) async throws {
        // The directory of a cloud under test lives as long as the thing that made it.
        let kept = Kept()
        let conformance = CloudConformance {
            // Not about a disk, and hundreds of commits: a file system in memory, where there is one.
            let calls: any FileSystemCalls = backend == .directoryPOSIX ? POSIXFileSystem() : systemFileCalls
            let test: any CloudUnderTest = backend == .memory ? MemoryUnderTest() : try DirectoryUnderTest(calls: calls, inMemory: true)
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
