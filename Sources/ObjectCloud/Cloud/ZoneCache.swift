import CloudStore
import Synchronization

/// The markers of zones that were read. A marker is written once, so what was read stays true.
final class ZoneCache: Sendable {
    private let known = Mutex<[ZoneID: ZoneInfo]>([:])

    func info(of zone: ZoneID) -> ZoneInfo? { known.withLock { $0[zone] } }

    func remember(_ info: ZoneInfo) { known.withLock { $0[info.id] = info } }
}
