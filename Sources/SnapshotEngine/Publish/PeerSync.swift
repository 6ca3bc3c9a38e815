import CloudStore
import LocalStore
import SnapshotModel
import SnapshotVersions

/// Brings a database and a zone together in which others publish, too: import what is new, merge, publish what is tracked.
///
/// Where another device was first, what was prepared is thrown away and all of it is done again, after a wait that differs
/// from device to device. Some device always wins; one that has lost several times asks the others to wait (``PublishTurn``). After
/// ``retry``'s attempts it is for later.
struct PeerSync: Sendable {
    let device: SyncContext
    let level: Int
    /// Which datasets may become much smaller.
    let allowed: ShrinkApproval
    let progress: ProgressHandler?
    var retry = RetryPolicy(attempts: 12, firstDelay: .milliseconds(10), longestDelay: .milliseconds(200))
    /// Waits between attempts.
    let pause: @Sendable (Duration) async throws -> Void

    /// Syncs.
    ///
    /// - Throws: ``SyncError`` with `.tryAgainLater` if other devices were first every time; what was imported stays.
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

    /// Ends the turn, and reports what was imported unless a publication has.
    private func end(_ turn: PublishTurn, reporting: Bool) async {
        await turn.ends()
        guard reporting, let token = await turn.imported else { return }
        var named = device
        // The import may have found that the name is another database's.
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
            let (report, news) = try await importUpstream(known)
            var upstream = news
            known = nil
            if let report {
                if report.applied, let token = try device.database.read(at: .read, { try $0.state.applied() })?.token { await turn.note(imported: token) }
                imported = imported.map { $0.followed(by: report) } ?? report
                try await device.repeatLostStatements()
                // That may have published a version of its own.
                if device.signedZone != nil { upstream = nil }
            }
            var publisher = device
            if imported != nil {
                publisher.notices = []
                // With an import, a device takes over what the zone's descriptions say of its own.
                publisher.settings.datasets = try SyncError.at(.read) { try device.database.read { try $0.settings.read().datasets } }
            }
            publisher.notices += found
            let export = ExportRun(
                device: publisher, level: level, isFull: false, isOneOfMany: true, progress: progress, allowed: allowed, turn: turn, upstream: upstream)
            switch try await export.attempt() {
            case .finished(let exported): return SyncReport(role: device.settings.role.rawValue, exported: exported, imported: imported)
            case .lostRace(let upstream):
                if upstream.hasRecovered { found += upstream.warnings }
                // Nothing was lost where this device let another one publish first.
                if await turn.gaveWay { continue }
                losses += 1
                guard losses < retry.attempts else {
                    throw SyncError(
                        .tryAgainLater, step: .announce, at: "zone \(device.zone)",
                        "other devices published first, \(losses) times in a row; what was changed here stays tracked",
                        hint: "run the same command again")
                }
                hasPlace = await turn.lost((upstream.applied?.number ?? 0) + 1, losses: losses)
                // What won the race is imported without another look.
                if !upstream.hasRecovered { known = upstream }
            }
            // In the queue it is for the others to wait.
            try await pause(retry.delay(after: hasPlace ? 1 : losses))
        }
    }

    /// Imports what is new. Returns nil for the report if nothing is, and what the zone has if that is what is here.
    ///
    /// - Parameter known: what the zone has, as a lost race has just shown; nil looks.
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
        if upstream.isBehind || upstream.fork != nil || hasUnseen {
            var run = ImportRun(device: device, progress: progress, allowed: allowed)
            // A report is two requests, and a version is to be published.
            run.reportsAtOnce = false
            let report = try await run.importNewest(upstream)
            // What was found a moment ago is what a version can be built on: should another device have published since, the race is lost.
            let here = try device.database.read(at: .read) { try $0.state.view() == nil ? $0.state.applied() : nil }
            let isNewest = report.applied && upstream.follows && !upstream.isExpired && here?.token == upstream.changes.token
            return (
                report,
                isNewest
                    ? UpstreamChanges(applied: here, changes: ZoneChanges(base: [], commits: [], token: here?.token), fork: nil, warnings: []) : nil
            )
        }
        let warnings = try device.notices + upstream.warnings + device.keepTracking()
        try await device.correctFutureInstants()
        try await TrackingRebuild(device: device).run(upstream)
        guard !warnings.isEmpty else { return (nil, upstream) }
        return (ImportReport(applied: false, version: upstream.applied?.number, datasets: [], view: nil, warnings: warnings), nil)
    }
}

extension ImportReport {
    /// This import and the one after it as one.
    func followed(by later: ImportReport) -> ImportReport {
        let again = Set(later.datasets.map(\.name))
        return ImportReport(
            applied: applied || later.applied, version: later.version, datasets: datasets.filter { !again.contains($0.name) } + later.datasets,
            view: later.view,
            warnings: warnings + later.warnings, conflicts: conflicts + later.conflicts, refusedEdits: refusedEdits + later.refusedEdits)
    }

    /// This import with one more thing that deserves attention.
    package func warning(_ text: String) -> ImportReport {
        ImportReport(
            applied: applied, version: version, datasets: datasets, view: view, warnings: warnings + [text], conflicts: conflicts, refusedEdits: refusedEdits)
    }
}
