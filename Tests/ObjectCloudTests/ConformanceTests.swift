import CloudStore
import CloudStoreConformance
import Foundation
import Synchronization
import Testing

@testable import ObjectCloud

/// The bucket backend keeps every promise of the public suite, on a store that works and on one that fails all the time.
struct ObjectConformanceTests {
    private func cloud(_ store: FakeStore, attempts: Int = ObjectClient.Retry().attempts) throws -> any CloudDatabase {
        try ObjectCloud.create(client: store.client(attempts: attempts), container: "iCloud.org.example.test").cloud
    }

    @Test(arguments: CloudConformance.checks)
    func theBackendKeepsThePromise(_ check: ConformanceCheck) async throws {
        try await CloudConformance { try cloud(FakeStore(pageLimit: 3)) }.run(check)
    }

    /// Of eleven requests six go wrong: lost before or after they were done, refused, done and refused.
    ///
    /// Where several devices take turns, one of them may meet the bad ones again and again, so a request is repeated more often here.
    @Test(arguments: CloudConformance.checks)
    func theBackendKeepsThePromiseOnAFailingStore(_ check: ConformanceCheck) async throws {
        try await CloudConformance {
            let count = Mutex(0)
            return try cloud(
                FakeStore { _ in
                    let number = count.withLock { count in
                        count += 1
                        return count
                    }
                    switch number % 11 {
                    case 1: return .lostBefore
                    case 3: return .doneBut(500, code: "InternalError")
                    case 4: return .refused(503, code: "SlowDown", headers: ["retry-after": "1"])
                    case 6: return .lostAfter
                    case 8: return .refused(409, code: "ConditionalRequestConflict")
                    case 9: return .doneBut(503, code: "ServiceUnavailable")
                    default: return nil
                    }
                }, attempts: 60)
        }.run(check)
    }
}
