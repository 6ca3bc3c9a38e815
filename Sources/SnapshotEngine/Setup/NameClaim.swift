import CloudStore
import LocalStore
import SnapshotVersions

/// A device's name, checked in the zone before a database takes it.
struct NameClaim {
    /// Whether this database takes over the reports and commits under the name.
    private let isTaken: Bool
    private let seen: String?
    private let newest: Int
    /// Whether the database had the name before `detach`, and no other database has synced under it since.
    let isReturning: Bool
    /// The nonce of the report with which this device requested membership before it was set up; nil if there is none.
    let requestNonce: String?

    /// Checks whether another database has reported under the name.
    ///
    /// - Parameters:
    ///   - detached: the device that the database was in this zone before `detach`, if any.
    ///   - keys: the device's keys in a signed zone. A report that they signed comes from this device.
    /// - Throws: ``SyncError`` with `.refused` if another database has reported, unless the name is to be taken over.
    init(_ name: String, in zone: ZoneID, of cloud: CloudDatabase, takesOver: Bool, detached: DetachedDevice?, keys: DevicePublicKeys? = nil) async throws {
        let report = try await cloud.at(.open).deviceReport(of: name, in: zone)
        let isReturning = detached?.device == name && detached?.isAuthor(of: report) == true
        if let report, !takesOver, !isReturning, keys == nil || report.keys != keys || report.token != nil {
            throw SyncError(
                .refused, step: .open, at: "zone \(zone)", "a \(report.role) has synced as \(name) before, at \(report.clock), from another database",
                hint: "choose another name with --device; if that database is lost, was detached, or is this one made anew: --take-over")
        }
        self.isReturning = isReturning
        seen = report?.nonce
        requestNonce = keys != nil && report?.keys == keys && report?.token == nil ? report?.nonce : nil
        let newest = takesOver || isReturning ? try await cloud.at(.open).records(in: zone).token?.number ?? 0 : 0
        self.newest = newest
        // Before the first version, only the device that made the zone may publish without importing.
        let isCreator = isReturning ? try await cloud.at(.open).zone(zone).creator == name : false
        isTaken = takesOver || isReturning && (newest > 0 || isCreator)
    }

    /// Records how the database got its zone and its name, in the transaction that stores the settings.
    func note(madeZone: Bool, in transaction: LocalTransaction) throws {
        try transaction.state.setBootstrapNote(BootstrapNote(madeZone: madeZone))
        if isTaken { try transaction.recordTakeOver(seen: seen, newest: newest) }
    }
}

extension DetachedDevice {
    /// Whether this device wrote a report in the zone. True if there is no report: no other device has synced under the name then.
    func isAuthor(of report: DeviceReport?) -> Bool {
        guard let report else { return true }
        return report.nonce.map { nonces?.include($0) == true } ?? false
    }
}
