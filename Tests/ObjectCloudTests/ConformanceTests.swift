import CloudContract
import CloudStore
import Foundation
import StoreConformance
import StrictText
import Synchronization
import TestSupport
import Testing

@testable import ObjectCloud

/// A bucket keeps every promise of a store, and the cloud in it every promise of the contract although requests fail all the time.
struct ObjectConformanceTests {
    /// A cloud in a store whose objects a check can change.
    private struct BucketUnderTest: DamageableCloud {
        let store: FakeStore
        let cloud: CloudDatabase
        let damageStride = 9

        init(_ store: FakeStore, attempts: Int = ObjectClient.standardRetry.attempts) throws {
            self.store = store
            cloud = try ObjectCloud.create(client: store.client(attempts: attempts), container: "iCloud.org.example.test").cloud
        }

        func damage(_ path: String, in zone: ZoneID, _ change: (inout [UInt8]?) -> Void) throws {
            store.state.withLock { state in
                let key = "app/\(zone)/\(path)"
                change(&state.objects[key])
                // An object that is young would count as still arriving.
                state.written[key] = Instant.now.advanced(byMicroseconds: -3_600_000_000)
            }
        }
    }

    @Test(arguments: StoreConformance.checks)
    func storeKeepsThePromise(_ check: StoreCheck) async throws {
        try await StoreConformance { try BucketUnderTest(FakeStore(pageLimit: 3)).cloud.store }.run(check)
    }

    /// Of eleven requests six go wrong: lost before or after they were done, refused, done and refused.
    ///
    /// Where several devices take turns, one of them may meet the bad ones again and again, so a request is repeated more often here.
    @Test(arguments: CloudContract.checks)
    func theBackendKeepsThePromiseOnAFailingStore(_ check: ContractCheck) async throws {
        try await CloudContract {
            let count = Counter()
            return try BucketUnderTest(
                FakeStore { _ in
                    switch count.next() % 11 {
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
