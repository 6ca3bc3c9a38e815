import CloudStore
import StoreConformance
import StrictText
import Synchronization
import Testing

/// The public suite finds every fault of a store that is built in on purpose, and says so in the check that is there for it.
struct SeededFaultTests {
    @Test(arguments: StoreFault.allCases)
    func theFaultIsFound(_ fault: StoreFault) async throws {
        let report = await StoreConformance { FaultyStore(fault) }.run()
        #expect(report.failures.map(\.check).contains(fault.revealingCheck), "\(report)")
        #expect(throws: ConformanceFailure.self) { try report.verify() }
    }

    @Test func storeWithoutFaultsPasses() async throws {
        let report = await StoreConformance { FaultyStore(nil) }.run()
        #expect(report.isPassed, "\(report)")
        #expect(report.checkCount > 10)
        try report.verify()
        #expect(report.description.hasSuffix("\(report.checkCount) of \(report.checkCount) promises kept"))
    }

    @Test func checksHaveNamesOfTheirOwn() {
        #expect(Set(StoreConformance.checks.map(\.name)).count == StoreConformance.checks.count)
    }

    @Test func storeThatCannotBeMadeIsReported() async {
        let report = await StoreConformance(makeStore: { throw CloudError(.cloudUnavailable, at: "store", "no such place") }).run()
        #expect(report.failures.count == report.checkCount)
    }
}

/// A way in which a store may break its contract.
enum StoreFault: String, CaseIterable, Sendable {
    case losesObject, replacesObject, hidesLostRace, hidesSameBytes, tearsObject, inventsObject, ignoresLimit, keepsRemoved, removesMore
    case listsUnsorted, listsOthers, ignoresCount, hasFrozenClock, hidesZones

    /// The check that is there for it; others may fail too.
    var revealingCheck: String {
        switch self {
        case .losesObject, .tearsObject: "objectComesBackByteForByte"
        case .replacesObject, .hidesSameBytes: "objectIsNeverReplaced"
        case .hidesLostRace: "ofManyWritersOneWins"
        case .inventsObject: "missingObjectIsNil"
        case .ignoresLimit: "objectBeyondTheLimitIsNotRead"
        case .keepsRemoved, .removesMore: "removalRemovesWhatIsNamed"
        case .listsUnsorted, .listsOthers, .ignoresCount: "listingIsCompleteAndSorted"
        case .hasFrozenClock: "objectIsAsOldAsTheClockSays"
        case .hidesZones: "zonesAreFound"
        }
    }
}

/// A store in memory with one fault.
private final class FaultyStore: ObjectStore {
    let place = "a faulty store"
    private let fault: StoreFault?
    private let objects = Mutex<[String: (bytes: [UInt8], stored: Instant)]>([:])

    init(_ fault: StoreFault?) { self.fault = fault }

    func clock(in zone: ZoneID) -> Instant { fault == .hasFrozenClock ? Instant(microseconds: 1_700_000_000_000_000) : .now }

    func get(_ path: String, limit: Int) throws(CloudError) -> [UInt8]? {
        guard let bytes = objects.withLock({ $0[path]?.bytes }) else { return fault == .inventsObject ? [] : nil }
        guard bytes.count <= limit || fault == .ignoresLimit else { throw CloudError(.limitExceeded, at: path, "too large") }
        return fault == .tearsObject ? Array(bytes.dropLast()) : bytes
    }

    func size(of path: String) -> Int? { objects.withLock { $0[path]?.bytes.count } }

    func list(_ prefix: String, first: Int?) -> [StoredObject] {
        let all = objects.withLock { $0 }.filter { fault == .listsOthers || $0.key.hasPrefix(prefix) }
        let sorted = all.sorted { ($0.key < $1.key) == (fault != .listsUnsorted) }
        let found = sorted.map { StoredObject(path: $0.key, byteCount: $0.value.bytes.count, modified: $0.value.stored) }
        return fault == .ignoresCount ? found : Array(found.prefix(first ?? .max))
    }

    func zoneNames(in scope: CloudScope) -> [String] {
        fault == .hidesZones ? [] : list("\(scope.rawValue)/", first: nil).map { String($0.path.split(separator: "/")[1]) }
    }

    func put(_ bytes: [UInt8], as path: String) -> Placement {
        objects.withLock { objects in
            if let found = objects[path] {
                if fault == .replacesObject { objects[path]?.bytes = bytes }
                if fault == .hidesLostRace { return .placed }
                return found.bytes == bytes && fault != .hidesSameBytes ? .wasThere : .taken
            }
            if fault != .losesObject { objects[path] = (bytes, .now) }
            return .placed
        }
    }

    func remove(_ paths: [String]) {
        objects.withLock { objects in
            if fault == .removesMore { objects = [:] }
            if fault != .keepsRemoved { for path in paths { objects[path] = nil } }
        }
    }
}
