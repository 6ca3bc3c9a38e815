import CloudStore
import CloudStoreConformance
import Testing

/// Each backend keeps every promise of the public suite, the directory on each kind of file system and with the calls of POSIX alone.
struct ConformanceTests {
    @Test(arguments: Backend.allCases, CloudConformance.checks)
    func theBackendKeepsThePromise(_ backend: Backend, _ check: ConformanceCheck) async throws {
        // One of the directories is on a disk; hundreds of commits for each of the others are written to a file system in memory.
        try await CloudConformance(damaging: { try backend.make(inMemory: backend != .directory) }).run(check)
    }
}
