import CloudContract
import CloudStore
import Foundation
import StoreConformance
import StrictText
import Synchronization
import TestSupport
import Testing

@testable import CloudKitCloud

/// A CloudKit keeps every promise of a store, with listings that are queries, too, and the cloud in it every promise of the contract although requests fail all the
/// time.
struct CloudKitConformanceTests {
    /// A cloud in a CloudKit whose records a check can change.
    private struct CloudUnderTest: DamageableCloud {
        let fakes: [CloudScope: FakeCloudKit]
        let cloud: CloudDatabase
        let damageStride = 9

        init(
            attempts: Int = CloudKitStore.standardRetry.attempts, listsByQuery: Bool = false,
            fault: @escaping @Sendable (FakeCloudKit.Request) -> FakeCloudKit.Fault? = { _ in nil }
        )
            async throws
        {
            var limits = FakeCloudKit.Limits()
            limits.page = 3
            let (own, all) = (FakeCloudKit(limits: limits, fault: fault), FakeCloudKit(isPublic: true, limits: limits, fault: fault))
            fakes = [.private: own, .public: all]
            cloud = try await CloudKitCloud.create(
                in: own, public: all, container: "iCloud.org.example.test", retry: .impatient(attempts: attempts), listsByQuery: listsByQuery)
        }

        func damage(_ path: String, in zone: ZoneID, _ change: (inout [UInt8]?) -> Void) throws {
            let place = CloudKitPlace("\(zone)/\(path)")
            fakes[place.scope]?.state.withLock { state in
                let key = place.zone ?? "", known = state.zones[key]?.records[place.name]
                var bytes = known.flatMap { stored -> [UInt8]? in
                    if case .bytes(let data) = stored.record.fields[CloudKitFile.bytes] { return [UInt8](data) }
                    return stored.asset.map { [UInt8]($0) }
                }
                change(&bytes)
                state.change += 1
                guard let bytes else {
                    state.zones[key]?.records[place.name] = nil
                    state.zones[key]?.deleted[place.name] = state.change
                    return
                }
                var record = CloudKitFile.record(at: place, byteCount: bytes.count, .bytes(Data(bytes)))
                record.changeTag = "tag-\(state.change)"
                record.modified = Date().addingTimeInterval(-3600)
                state.zones[key]?.records[place.name] = FakeCloudKit.Stored(record: record, asset: nil, change: state.change)
            }
        }
    }

    @Test(arguments: StoreConformance.checks, [false, true])
    func storeKeepsThePromise(_ check: StoreCheck, listsByQuery: Bool) async throws {
        try await StoreConformance { try await CloudUnderTest(listsByQuery: listsByQuery).cloud.store }.run(check)
    }

    /// Of eleven requests six go wrong: refused, or done although the answer says otherwise.
    @Test(arguments: CloudContract.checks)
    func theBackendKeepsThePromiseOnAFailingCloudKit(_ check: ContractCheck) async throws {
        try await CloudContract {
            let count = Counter()
            return try await CloudUnderTest(attempts: 60) { _ in
                switch count.next() % 11 {
                case 1: return .refused(CloudKitError(.networkFailure))
                case 3: return .doneBut(CloudKitError(.serviceUnavailable, retryAfter: .seconds(3)))
                case 4: return .refused(CloudKitError(.requestRateLimited, retryAfter: .seconds(30)))
                case 6: return .doneBut(CloudKitError(.networkFailure))
                case 8: return .refused(CloudKitError(.zoneBusy, retryAfter: .seconds(1)))
                case 9: return .doneBut(CloudKitError(.serverResponseLost))
                default: return nil
                }
            }
        }.run(check)
    }
}
