import CloudContract
import CloudStore
import StoreConformance
import Testing

/// Each store keeps every promise of a store: memory, the directory on each kind of file system and with the calls of POSIX alone. A cloud on memory and one on a
/// directory keep every promise of the contract.
struct ConformanceTests {
    @Test(arguments: [Backend.memory, .directory], CloudContract.checks)
    func theBackendKeepsThePromise(_ backend: Backend, _ check: ContractCheck) async throws { try await CloudContract { try backend.make() }.run(check) }

    @Test(arguments: Backend.allCases, StoreConformance.checks)
    func storeKeepsThePromise(_ backend: Backend, _ check: StoreCheck) async throws {
        let test = try backend.make(inMemory: true)
        try await StoreConformance { test.cloud.store }.run(check)
    }
}
