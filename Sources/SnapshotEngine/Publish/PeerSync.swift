import CloudStore
import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

/// Syncs a database with a zone that has other publishers as well: imports what is new, merges, and publishes the tracked changes.
///
/// If another device publishes first, the prepared version is discarded and the sync starts again, after a random wait. Some device always wins;
/// a device that has lost several times asks the others to wait (``PublishTurn``). When the attempts of ``retry`` are used up, the sync fails
/// with `.tryAgainLater`.
struct PeerSync: Sendable {
    let device: SyncContext
    let level: Int
    /// The datasets that may become much smaller.
    let allowed: ShrinkApproval
    let progress: ProgressHandler?
    var retry = RetryPolicy(attempts: 12, firstDelay: .milliseconds(10), longestDelay: .milliseconds(200))
    /// Waits between attempts.
    let pause: @Sendable (Duration) async throws -> Void

    /// Syncs.
    ///
    /// - Throws: ``SyncError`` with `.tryAgainLater` if other devices published first every time. What was imported stays.
    func run() async throws -> SyncReport {
        try await KeyRangeClaim.renew(device)
        let turn = PublishTurn(device: device, pause: pause)
        do {
            let report = try await run(turn)
            await end(turn, reporting: report.exported?.published != true)
            return report
        } catch {
            await end(turn, reporting: true)
            throw error
        }
    }

    /// Ends the turn. With `reporting`, reports the imported version, because no publication has reported.
    private func end(_ turn: PublishTurn, reporting: Bool) async {
        await turn.ends()
        guard reporting, let token = await turn.imported else { return }
        var named = device
        // The import may have renamed the device because another database uses its name.
        if let settings = try? device.database.read({ try $0.settings.read() }) { named.settings = settings }
        await named.report(token)
    }

    private func run(_ turn: PublishTurn) async throws -> SyncReport {
        var imported: ImportReport?
        var losses = 0
        var found: [String] = []
        var known: UpstreamChanges?
        while true {
            let hasPlace: Bool
            let (report, upstream) = try await importUpstream(known)
            known = nil
            if let report {
                if report.applied, let token = try device.database.read(at: .read, { try $0.state.applied() })?.token { await turn.note(imported: token) }
                imported = imported.map { $0.followed(by: report) } ?? report
            }
            var publisher = device
            if imported != nil {
                publisher.notices = []
                // An import may have updated the device's dataset descriptions from the zone's, or given the device another name.
                let settings = try device.database.read(at: .read) { try $0.settings.read() }
                (publisher.settings.datasets, publisher.settings.device) = (settings.datasets, settings.device)
            }
            publisher.notices += found
            let export = ExportRun(
                device: publisher, level: level, isFull: false, isOneOfMany: true, progress: progress, allowed: allowed, turn: turn, upstream: upstream)
            switch try await export.attempt() {
            case .finished(let exported): return SyncReport(role: device.settings.role.rawValue, exported: exported, imported: imported)
            case .lostRace(let upstream):
                if upstream.hasRecovered { found += upstream.warnings }
                // This device let another one publish first: that is no lost race.
                if await turn.gaveWay { continue }
                losses += 1
                guard losses < retry.attempts else {
                    throw SyncError(
                        .tryAgainLater, step: .announce, at: "zone \(device.zone)",
                        "other devices published first, \(losses) times in a row; what was changed here stays tracked",
                        hint: "run the same command again")
                }
                hasPlace = await turn.lost((upstream.applied?.number ?? 0) + 1, losses: losses)
                // Import the winner's commits without reading the zone again.
                if !upstream.hasRecovered { known = upstream }
            }
            // A device that has a place in the queue waits only briefly: the others wait for it.
            try await pause(retry.delay(after: hasPlace ? 1 : losses))
        }
    }

    /// Imports what is new. The report is nil if nothing is. The second value is what the zone has, if it equals the applied version.
    ///
    /// - Parameter known: the commits that a lost race has just found; nil reads the zone.
    private func importUpstream(_ known: UpstreamChanges?) async throws -> (report: ImportReport?, upstream: UpstreamChanges?) {
        let upstream = if let known { known } else { try await device.recoverAndFetchUpstreamChanges() }
        if upstream.changes.token == nil {
            let creator = try await device.zoneInfo(at: .fetch).creator
            guard creator == device.settings.device else {
                throw SyncError(
                    .nothingThere, step: .fetch, at: "zone \(device.zone)",
                    "nothing has been published yet, and the first version is made by the device that made the zone",
                    hint: "run snapsync sync on \(creator) first")
            }
            return (nil, upstream)
        }
        let hasUnseen = try device.database.read(at: .read) { transaction in
            try device.settings.datasets.contains { try !transaction.state.unseenColumns(of: $0).isEmpty }
        }
        if upstream.isBehind || hasUnseen {
            var run = ImportRun(device: device, progress: progress, allowed: allowed)
            // A report costs two requests, and the publication that follows reports as well.
            run.reportsAtOnce = false
            let report = try await run.importNewest(upstream)
            // Publish after the imported version without reading the zone again. If another device has published since, this device loses the
            // race.
            let here = try device.database.read(at: .read) { try $0.state.view() == nil ? $0.state.applied() : nil }
            let isNewest = report.applied && upstream.follows && !upstream.isExpired && here?.token == upstream.changes.token
            return (
                report, isNewest ? UpstreamChanges(applied: here, changes: ZoneChanges(base: [], commits: [], token: here?.token), warnings: []) : nil
            )
        }
        let warnings = try device.notices + upstream.warnings + device.keepTracking()
        try await device.correctFutureInstants()
        _ = try await TrackingRebuild(device: device).run(upstream)
        guard !warnings.isEmpty else { return (nil, upstream) }
        return (ImportReport(applied: false, version: upstream.applied?.number, datasets: [], view: nil, warnings: warnings), nil)
    }
}

extension ImportReport {
    /// Combines this import and a later one into one report.
    func followed(by later: ImportReport) -> ImportReport {
        let again = Set(later.datasets.map(\.name))
        // If the later import knows the fields, it has taken them in; if not, it says so itself.
        let outdated = again.map { $0 + Self.unknownFields }
        return ImportReport(
            applied: applied || later.applied, version: later.version, datasets: datasets.filter { !again.contains($0.name) } + later.datasets,
            view: later.view,
            warnings: warnings.filter { warning in !outdated.contains(where: warning.exact.hasPrefix) } + later.warnings,
            conflicts: conflicts + later.conflicts, conflictReasons: conflictReasons.merging(later.conflictReasons, uniquingKeysWith: +))
    }

    /// The beginning of a warning, after the dataset's name.
    static let unknownFields = ": this device does not know the fields"

    /// This report with one more warning.
    package func warning(_ text: String) -> ImportReport {
        ImportReport(
            applied: applied, version: version, datasets: datasets, view: view, warnings: warnings + [text], conflicts: conflicts,
            conflictReasons: conflictReasons)
    }
}
