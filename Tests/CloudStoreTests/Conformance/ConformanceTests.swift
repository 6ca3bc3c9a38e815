import CloudContract
import CloudStore
import StoreConformance
import Testing

/// Each store keeps every promise of a store, and its cloud every promise of the contract: memory, the directory on each kind of file system
/// and with the calls of POSIX alone.
struct ConformanceTests {
    @Test(arguments: Backend.allCases, CloudContract.checks)
    func theBackendKeepsThePromise(_ backend: Backend, _ check: ContractCheck) async throws {
        // One of the directories is on a disk; hundreds of commits for each of the others are written to a file system in memory.
        try await CloudContract { try backend.make(inMemory: backend != .directory) }.run(check)
    }

    @Test(arguments: Backend.allCases, StoreConformance.checks)
    func storeKeepsThePromise(_ backend: Backend, _ check: StoreCheck) async throws {
        let test = try backend.make(inMemory: true)
        try await StoreConformance { test.cloud.store }.run(check)
    }
}
