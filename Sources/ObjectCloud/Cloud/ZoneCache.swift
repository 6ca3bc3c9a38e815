import CloudStore
import Synchronization

/// What was read since the cloud was opened, or reported, so that it is not asked for again.
final class ZoneCache: Sendable {
    private struct Known {
        var markers: [ZoneID: ZoneInfo] = [:]
        var reports: [String: Reports] = [:]
    }

    /// The reports of one device, as a listing or the last report made here left them.
    struct Reports {
        /// Ascending.
        var counters: [Int]
        var newest: DeviceReport?
    }

    private let known = Mutex(Known())

    /// A zone's marker. A marker is written once, so what was read stays true.
    func info(of zone: ZoneID) -> ZoneInfo? { known.withLock { $0.markers[zone] } }

    func remember(_ info: ZoneInfo) { known.withLock { $0.markers[info.id] = info } }

    /// The reports in a folder. Another run of the device may have made later ones, whose names are taken then.
    func reports(in folder: String) -> Reports? { known.withLock { $0.reports[folder] } }

    func remember(_ reports: Reports?, in folder: String) { known.withLock { $0.reports[folder] = reports } }
}
