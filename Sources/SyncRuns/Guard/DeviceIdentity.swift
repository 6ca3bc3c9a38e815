package import CloudStore
import Foundation
package import LocalTables
import SnapshotModel
import SnapshotVersions
import StrictText

/// Detects that a database is a copy of another one, or a restored backup, so that two databases sync under one name.
///
/// Each report in the cloud carries a nonce that the reporting database stores as well. If the cloud has another nonce, or has a commit in this
/// device's name that this database never intended, another database uses the name. This database then takes a new name and loses nothing.
package struct DeviceIdentity {
    /// The device, under its new name if it had to take one.
    package let context: SyncContext
    /// Sentences for the run's report.
    let warnings: [String]
    /// Why the device took another name; nil if it kept its name.
    let reason: String?

    /// Checks whether another database uses the device's name, and renames the device if so.
    ///
    /// - Parameter commits: the commits of the zone that the device has not read yet.
    static func check(_ context: SyncContext, applied: AppliedVersion?, commits: [Commit]) async throws -> DeviceIdentity {
        if let authority = context.signedZone?.authority {
            let nonces = try context.database.read { try $0.state.reportNonces() }
            authority.ownNonces = Set([nonces?.seen, nonces?.next].compactMap { $0 })
        }
        var report = try await context.cloud.deviceReport(of: context.settings.device, in: context.zone)
        // In a signed zone, a report with other keys was written by another device and says nothing about this one.
        if let own = context.signedZone?.authority.knowledge.own, report?.keys != own { report = nil }
        let facts = try context.database.read {
            Facts(
                name: context.settings.device, applied: applied, intended: try $0.state.intended(), nonces: try $0.state.reportNonces(),
                known: try $0.state.ownCommitsKnown())
        }
        // A party that can write to the cloud can put back an older report of this device. A report that these keys signed before the last one is
        // such a replay, not proof of a copy.
        if context.signedZone != nil, let nonce = report?.nonce, facts.nonces?.include(nonce) == false, let since = facts.nonces?.since,
            let clock = report?.clock, clock < since
        {
            report = nil
        }
        guard let reason = facts.reason(report, commits) else {
            var same = context
            same.reportSeen = report?.nonce
            return DeviceIdentity(context: same, warnings: [], reason: nil)
        }
        // If the zone was replaced by an older copy of itself, its reports are older, too. That is an error of its own and no reason for another
        // name.
        _ = try await context.fetchUpstreamChanges()
        guard context.signedZone == nil else {
            throw SyncError(
                .refused, step: .announce, at: context.zone.place,
                "\(reason): this database is a copy of another one, or a backup that was put back, and in a signed zone a copy needs keys of its own",
                hint:
                    "if this database goes on in the other one's place: snapsync device claim \(context.database.path.shellWord); else detach it and set it up under another name"
            )
        }
        let name = String(context.settings.device.prefix(59)) + "-" + context.nonces.hex(4)
        try context.database.write { transaction in
            try transaction.settings.device.set(name)
            try transaction.state.reportNonces.set(nil)
        }
        var renamed = context
        renamed.settings.device = name
        return DeviceIdentity(
            context: renamed,
            warnings: [
                "\(reason): this database is a copy of another one, or a backup that was put back; it is the device \(name) from now on, and nothing of it was lost"
            ], reason: reason)
    }

    /// The facts that decide: a plain value, without files or clocks.
    struct Facts {
        let name: String
        let applied: AppliedVersion?
        let intended: IntendedVersion?
        let nonces: ReportNonces?
        /// Commits in the device's name up to this number are known to come from another database.
        let known: Int

        /// Returns why another database must be using the name; nil if none does.
        func reason(_ report: DeviceReport?, _ commits: [Commit]) -> String? {
            // A database without a version has made no commit; the first import handles commits that exist then. A commit that deletes or
            // recreates the zone holds no data, and an administrator may make it in the creator's name.
            let withData = commits.filter { !($0.saved.isEmpty && $0.deleted.isEmpty) }
            if applied != nil,
                let foreign = withData.first(where: { $0.device == name && $0.token.number > known && intended?.attempt(AppliedVersion($0.token)) == nil })
            {
                return "version \(foreign.token.number) was published as \(name), and not from here"
            }
            guard let report else { return nil }
            if let nonce = report.nonce { return nonces?.include(nonce) == true ? nil : "another database has synced as \(name)" }
            if let applied, let reported = report.token, reported.number > max(applied.number, known) {
                return "\(name) has reported version \(reported.number), which is not here"
            }
            return nil
        }
    }
}

extension SyncContext {
    /// Checks that no other database publishes under this publisher's name.
    ///
    /// - Returns: the result, with the device's current name.
    /// - Throws: ``SyncError`` with `.refused` if the zone has one publisher, and another database may be using its name.
    package func checkIdentity(applied: AppliedVersion?, commits: [Commit]) async throws -> DeviceIdentity {
        let identity = try await DeviceIdentity.check(self, applied: applied, commits: commits)
        guard let reason = identity.reason, try await zoneInfo().publishers == .one else { return identity }
        throw SyncError(
            .refused, step: .announce, at: zone.place,
            "\(reason): this database is a copy of another one, or a backup that was put back; it is the device \(identity.context.settings.device) from now on, and nothing was published",
            hint:
                "decide which database publishes: this one with snapsync device claim \(database.path.shellWord), then snapsync import; or leave it to the other one"
        )
    }

    /// Returns the nonce for the next report. The database stores it first, usually in the transaction that applied what the report says.
    func nextNonce() throws -> String {
        if let next = usable(try database.read { try $0.state.reportNonces() }) { return next }
        return try database.write { try nextNonce(in: $0) }
    }

    /// Stores the nonce of the report that follows a transaction as part of that transaction. This saves one wait for the disk.
    @discardableResult
    func nextNonce(in transaction: LocalTransaction) throws -> String {
        let known = try transaction.state.reportNonces()
        if let next = usable(known) { return next }
        let next = nonces.uuid()
        try transaction.state.reportNonces.set(ReportNonces(seen: reportSeen ?? known?.seen, next: next, since: now()))
        return next
    }

    /// A nonce that has not appeared in the cloud yet can be used again: no other database can have it.
    private func usable(_ known: ReportNonces?) -> String? { known.flatMap { $0.next == reportSeen ? nil : $0.next } }
}

extension LocalTransaction {
    /// Records that this database owns the device's name from now on, whatever was reported and published under it before.
    ///
    /// - Parameters:
    ///   - seen: the nonce of the last report under the name.
    ///   - newest: the zone's newest commit. Commits up to it in the device's name are no sign of a copy. 0 lets this database publish first.
    package func recordTakeOver(seen: String?, newest: Int) throws {
        try state.reportNonces.set(ReportNonces(seen: seen, next: UUID().uuidString.lowercased()))
        try state.ownCommitsKnown.set(newest)
        if newest == 0 { try state.bootstrapNote.set(BootstrapNote(madeZone: true)) }
    }
}
