import CloudStore
import Synchronization

/// What was read since the cloud was opened, or reported, so that it is not asked for again.
package final class ZoneCache: Sendable {
    private struct Known {
        var markers: [ZoneID: ZoneInfo] = [:]
        var reports: [String: Reports] = [:]
        var commits: [String: (bytes: [UInt8], at: ContinuousClock.Instant)] = [:]
    }

    /// How long a commit that was read counts as there without another look.
    private static let commitAge = Duration.seconds(10)

    /// The reports of one device, as a listing or the last report made here left them.
    struct Reports {
        /// Ascending.
        var counters: [Int]
        var newest: DeviceReport?
    }

    private let known = Mutex(Known())

    package init() {}

    /// A zone's marker. A marker is written once, so what was read stays true.
    func info(of zone: ZoneID) -> ZoneInfo? { known.withLock { $0.markers[zone] } }

    func remember(_ info: ZoneInfo) { known.withLock { $0.markers[info.id] = info } }

    /// The reports in a folder. Another run of the device may have made later ones, whose names are taken then.
    func reports(in folder: String) -> Reports? { known.withLock { $0.reports[folder] } }

    func remember(_ reports: Reports?, in folder: String) { known.withLock { $0.reports[folder] = reports } }

    /// A commit that was read here a moment ago.
    func recentCommit(_ path: String) -> [UInt8]? {
        known.withLock { $0.commits[path].flatMap { $0.at.duration(to: .now) < Self.commitAge ? $0.bytes : nil } }
    }

    /// Keeps a commit for ``recentCommit(_:)``, in place of all others.
    func remember(_ commit: [UInt8], at path: String) { known.withLock { $0.commits = [path: (commit, .now)] } }
}
