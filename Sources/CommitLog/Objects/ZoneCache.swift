import CloudStore
import Synchronization

/// Caches what was read or reported since the cloud was opened, to save requests.
package final class ZoneCache: Sendable {
    private struct Known {
        var markers: [ZoneID: ZoneInfo] = [:]
        var reports: [String: Reports] = [:]
        var commits: [String: (bytes: [UInt8], at: ContinuousClock.Instant)] = [:]
    }

    /// How long a commit that was read counts as present without another request.
    private static let commitAge = Duration.seconds(10)

    /// The reports of one device, as of the last listing or the last report made here.
    struct Reports {
        /// In ascending order.
        var counters: [Int]
        var newest: DeviceReport?
    }

    private let known = Mutex(Known())

    package init() {}

    /// A zone's marker. It is written only once, so the cached copy stays valid.
    func info(of zone: ZoneID) -> ZoneInfo? { known.withLock { $0.markers[zone] } }

    func remember(_ info: ZoneInfo) { known.withLock { $0.markers[info.id] = info } }

    /// The reports in a folder. Another run of the device may have added later ones; the put then finds the counter taken.
    func reports(in folder: String) -> Reports? { known.withLock { $0.reports[folder] } }

    func remember(_ reports: Reports?, in folder: String) { known.withLock { $0.reports[folder] = reports } }

    /// A commit that was read here at most 10 seconds ago.
    func recentCommit(_ path: String) -> [UInt8]? {
        known.withLock { $0.commits[path].flatMap { $0.at.duration(to: .now) < Self.commitAge ? $0.bytes : nil } }
    }

    /// Caches a commit for ``recentCommit(_:)``, and drops all others.
    func remember(_ commit: [UInt8], at path: String) { known.withLock { $0.commits = [path: (commit, .now)] } }
}
