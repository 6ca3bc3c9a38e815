import CloudContract
import CloudStore
import Foundation
import StoreConformance
import StrictText
import Synchronization
import Testing

@testable import CloudKitCloud

/// The CloudKit backend keeps every promise of the contract: on a CloudKit that works, on one that fails all the time, and where listings are
/// queries.
struct CloudKitConformanceTests {
    /// A cloud in a CloudKit whose records a check can change.
    private struct CloudUnderTest: DamageableCloud {
        let fakes: [CloudScope: FakeCloudKit]
        let cloud: CloudDatabase
        let damageStride = 9

        init(
            attempts: Int = CloudKitRetry().attempts, listsByQuery: Bool = false,
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

    @Test(arguments: StoreConformance.checks)
    func storeKeepsThePromise(_ check: StoreCheck) async throws { try await StoreConformance { try await CloudUnderTest().cloud.store }.run(check) }

    @Test(arguments: CloudContract.checks)
    func theBackendKeepsThePromise(_ check: ContractCheck) async throws {
        try await CloudContract { try await CloudUnderTest() }.run(check)
    }

    @Test(arguments: CloudContract.checks)
    func theBackendKeepsThePromiseWhereListingsAreQueries(_ check: ContractCheck) async throws {
        try await CloudContract { try await CloudUnderTest(listsByQuery: true) }.run(check)
    }

    /// Of eleven requests six go wrong: refused, or done although the answer says otherwise.
    @Test(arguments: CloudContract.checks)
    func theBackendKeepsThePromiseOnAFailingCloudKit(_ check: ContractCheck) async throws {
        try await CloudContract {
            let count = Mutex(0)
            return try await CloudUnderTest(attempts: 60) { _ in
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                switch number % 11 {
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
