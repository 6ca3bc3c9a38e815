import CloudStore
import LocalTables
import SnapshotModel
import SnapshotVersions
import StrictText

/// Syncs a database with a zone that has other publishers as well: imports what is new, merges, and publishes the tracked changes.
///
/// If another device publishes first, the prepared version is discarded and the sync starts again, at once: while it waited, others would publish more.
/// Some device always wins. After ``attempts`` lost races, the sync fails with `.tryAgainLater`.
package struct PeerSync: Sendable {
    let context: SyncContext
    /// The datasets that may become much smaller.
    let allowed: ShrinkApproval
    let progress: ProgressHandler?
    private static let attempts = 100

    package init(context: SyncContext, allowed: ShrinkApproval, progress: ProgressHandler?) {
        (self.context, self.allowed, self.progress) = (context, allowed, progress)
    }

    /// Syncs.
    ///
    /// - Throws: ``SyncError`` with `.tryAgainLater` if other devices published first every time. What was imported stays.
    package func run() async throws -> SyncReport {
        try await KeyRangeClaim.renew(context)
        var newest: ChangeToken?
        do {
            let report = try await run(noting: &newest)
            if report.exported?.published != true { await self.report(newest) }
            return report
        } catch {
            await self.report(newest)
            guard newest != nil, var failure = error as? SyncError else { throw error }
            failure.reason += "; what other devices had published was imported before"
            throw failure
        }
    }

    /// Reports the imported version, because no publication has reported.
    private func report(_ imported: ChangeToken?) async {
        guard let token = imported else { return }
        var named = context
        // The import may have renamed the device because another database uses its name.
        if let settings = try? context.database.read({ try $0.settings.read() }) { named.settings = settings }
        await named.report(token)
    }

    /// - Parameter newest: is set to the version that was imported last.
    private func run(noting newest: inout ChangeToken?) async throws -> SyncReport {
        let identity = OnceValue<DeviceIdentity>()
        var imported: ImportReport?
        var losses = 0
        var found: [String] = []
        var known: UpstreamChanges?
        while true {
            let (report, upstream) = try await importUpstream(known)
            known = nil
            if let report {
                if report.applied, let token = try context.database.read({ try $0.state.applied() })?.token { newest = token }
                imported = imported.map { $0.followed(by: report) } ?? report
            }
            var publisher = context
            if imported != nil {
                publisher.notices = []
                // An import may have updated the device's dataset descriptions from the zone's, or given the device another name.
                let settings = try context.database.read { try $0.settings.read() }
                (publisher.settings.datasets, publisher.settings.device) = (settings.datasets, settings.device)
            }
            publisher.notices += found
            var export = ExportRun(context: publisher, isFull: false, isOneOfMany: true, progress: progress, allowed: allowed, upstream: upstream)
            export.identity = identity
            switch try await export.attempt() {
            case .finished(let exported): return SyncReport(role: context.settings.role.rawValue, exported: exported, imported: imported)
            case .lostRace(let upstream):
                if upstream.hasRecovered { found += upstream.warnings }
                losses += 1
                guard losses < Self.attempts else {
                    throw SyncError(
                        .tryAgainLater, step: .announce, at: context.zone.place,
                        "other devices published first, \(losses) times in a row; what was changed here stays tracked",
                        hint: "run the same command again")
                }
                // Import the winner's commits without reading the zone again.
                if !upstream.hasRecovered { known = upstream }
            }
        }
    }

    /// Imports what is new. The report is nil if nothing is. The second value is what the zone has, if it equals the applied version.
    ///
    /// - Parameter known: the commits that a lost race has just found; nil reads the zone.
    private func importUpstream(_ known: UpstreamChanges?) async throws -> (report: ImportReport?, upstream: UpstreamChanges?) {
        let upstream = if let known { known } else { try await context.recoverAndFetchUpstreamChanges() }
        if upstream.changes.token == nil {
            let creator = try await context.zoneInfo().creator
            guard creator == context.settings.device else {
                throw SyncError(
                    .nothingThere, step: .fetch, at: context.zone.place,
                    "nothing has been published yet, and the first version is made by the device that made the zone",
                    hint: "run snapsync sync on \(creator) first")
            }
            return (nil, upstream)
        }
        let hasUnseen = try context.database.read { transaction in
            try context.settings.datasets.contains { try !transaction.state.unseenColumns(of: $0).isEmpty }
        }
        if upstream.isBehind || hasUnseen {
            var run = ImportRun(context: context, progress: progress, allowed: allowed)
            // A report costs two requests, and the publication that follows reports as well.
            run.reportsAtOnce = false
            let report = try await run.importNewest(upstream)
            // Publish after the imported version without reading the zone again. If another device has published since, this device loses the
            // race.
            let here = try context.database.read { try $0.state.applied() }
            let isNewest = report.applied && upstream.follows && !upstream.isExpired && here?.token == upstream.changes.token
            return (
                report, isNewest ? UpstreamChanges(applied: here, changes: ZoneChanges(base: [], commits: [], token: here?.token), warnings: []) : nil
            )
        }
        let warnings = try context.notices + upstream.warnings + context.keepTracking()
        try await context.correctFutureInstants()
        _ = try await TrackingRebuild(context: context).run(upstream)
        guard !warnings.isEmpty else { return (nil, upstream) }
        return (ImportReport(applied: false, version: upstream.applied?.number, datasets: [], warnings: warnings), nil)
    }
}

extension ImportReport {
    /// Combines this import and a later one into one report.
    func followed(by later: ImportReport) -> ImportReport {
        let again = Set(later.datasets.map(\.name))
        // If the later import knows the fields, it has taken them in; if not, it says so itself.
        let outdated = again.map { $0 + Self.unknownFields }
        var both = later
        both.applied = applied || later.applied
        both.datasets = datasets.filter { !again.contains($0.name) } + later.datasets
        both.warnings = warnings.filter { warning in !outdated.contains(where: warning.exact.hasPrefix) } + later.warnings
        both.conflicts += conflicts
        both.conflictReasons.merge(conflictReasons, uniquingKeysWith: +)
        return both
    }

    /// The beginning of a warning, after the dataset's name.
    static let unknownFields = ": this device does not know the fields"

    /// This report with one more warning.
    package func warning(_ text: String) -> ImportReport {
        var report = self
        report.warnings.append(text)
        return report
    }
}
