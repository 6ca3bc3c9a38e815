import CloudStore
import CommitLog
import LocalStore
import SnapshotVersions
import StrictText

/// Notices that a database is a copy of another one, or a backup that was put back: somebody else syncs under its name.
///
/// Each report in the cloud carries a nonce that the reporting database keeps, too. Another nonce there, or a commit in this
/// device's name that it never intended, means that the name is taken; the database takes another, and nothing is lost.
struct DeviceIdentity {
    /// The device, under another name if it had to take one.
    let device: SyncContext
    /// What there is to say.
    let warnings: [String]
    /// Why it took another name; nil if it did not.
    let reason: String?

    /// Looks whether the device's name is still its own.
    ///
    /// - Parameter commits: what the zone has that the device has not read.
    static func check(_ device: SyncContext, applied: AppliedVersion?, commits: [Commit]) async throws -> DeviceIdentity {
        var report = try await device.cloud.at(.fetch).deviceReport(of: device.settings.device, in: device.zone)
        // In a signed zone somebody else's report under this name says nothing of this device.
        if let own = device.signedZone?.authority.knowledge.own, report?.keys != own { report = nil }
        let facts = try device.database.read(at: .read) {
            Facts(
                name: device.settings.device, applied: applied, intended: try $0.state.intended(), nonces: try $0.state.reportNonces(),
                known: try $0.state.ownCommitsKnown())
        }
        // Whoever can write the cloud can put an older report of this device back. One that these keys have signed before the last one is no copy's.
        if device.signedZone != nil, let nonce = report?.nonce, facts.nonces?.include(nonce) == false, let since = facts.nonces?.since,
            let clock = report?.clock, clock < since
        {
            report = nil
        }
        guard let reason = facts.reason(report, commits) else {
            var same = device
            same.reportSeen = report?.nonce
            return DeviceIdentity(device: same, warnings: [], reason: nil)
        }
        // An older copy of the zone, put in its place since it was looked at, has older reports: that is refused, and no reason for another name.
        _ = try await device.fetchUpstreamChanges()
        guard device.signedZone == nil else {
            throw SyncError(
                .refused, step: .announce, at: "zone \(device.zone)",
                "\(reason): this database is a copy of another one, or a backup that was put back, and in a signed zone a copy needs keys of its own",
                hint:
                    "if this database goes on in the other one's place: snapsync init --take-over --db \(device.database.path); else detach it and set it up under another name"
            )
        }
        let name = String(device.settings.device.prefix(59)) + "-" + device.nonces.hex(4)
        try device.database.write(at: .open) { transaction in
            try transaction.settings.setDevice(name)
            try transaction.state.setReportNonces(nil)
        }
        var renamed = device
        renamed.settings.device = name
        return DeviceIdentity(
            device: renamed,
            warnings: [
                "\(reason): this database is a copy of another one, or a backup that was put back; it is the device \(name) from now on, and nothing of it was lost"
            ], reason: reason)
    }

    /// The facts that decide, without files or clocks.
    struct Facts {
        let name: String
        let applied: AppliedVersion?
        let intended: IntendedVersion?
        let nonces: ReportNonces?
        /// Up to that number, commits in the device's name are known to be another database's.
        let known: Int

        /// Why the name is another database's; nil if it is not.
        func reason(_ report: DeviceReport?, _ commits: [Commit]) -> String? {
            // Before its first version a database has made no commit; what is there is the first import's matter.
            // A commit that deletes the zone or makes it anew is an administrator's, who may use the creator's name, and holds no data.
            let withData = commits.filter { !($0.saved.isEmpty && $0.deleted.isEmpty && $0.messages.isEmpty) }
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
    /// Sees that this publisher is who it says it is.
    ///
    /// - Returns: what says so, with the device's present name.
    /// - Throws: ``SyncError`` with `.refused` where only one device publishes and it may be another database by now.
    func checkIdentity(applied: AppliedVersion?, commits: [Commit]) async throws -> DeviceIdentity {
        let identity = try await DeviceIdentity.check(self, applied: applied, commits: commits)
        guard let reason = identity.reason, try await zoneInfo().publishers == .one else { return identity }
        throw SyncError(
            .refused, step: .announce, at: "zone \(zone)",
            "\(reason): this database is a copy of another one, or a backup that was put back; it is the device \(identity.device.settings.device) from now on, and nothing was published",
            hint:
                "decide which database publishes: this one with snapsync init --take-over --db \(database.path), then snapsync import; or leave it to the other one"
        )
    }

    /// The nonce of the report that is about to be written: noted here first, most often by the transaction that brought what it tells.
    func nextNonce() throws -> String {
        if let next = usable(try database.read { try $0.state.reportNonces() }) { return next }
        return try database.write { try nextNonce(in: $0) }
    }

    /// Notes the nonce of the report that is to follow a transaction, as part of it: one wait for the disk less.
    @discardableResult
    func nextNonce(in transaction: LocalTransaction) throws -> String {
        let known = try transaction.state.reportNonces()
        if let next = usable(known) { return next }
        let next = nonces.uuid()
        try transaction.state.setReportNonces(ReportNonces(seen: reportSeen ?? known?.seen, next: next, since: now()))
        return next
    }

    /// A nonce that was not seen in the cloud yet serves again, for nobody else can have it.
    private func usable(_ known: ReportNonces?) -> String? { known.flatMap { $0.next == reportSeen ? nil : $0.next } }
}
