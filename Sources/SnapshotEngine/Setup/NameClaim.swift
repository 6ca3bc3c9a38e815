import CloudStore
import LocalStore
import SnapshotVersions

/// A device's name, looked up in the zone before a database takes it.
struct NameClaim {
    private let takesOver: Bool
    private let seen: String?
    private let newest: Int

    /// Looks whether another database has reported under the name.
    ///
    /// - Parameter keys: the keys of the device in a signed zone: what they have signed, this device has reported.
    /// - Throws: ``SyncError`` with `.refused` if one has, unless it is to be taken over.
    init(_ name: String, in zone: ZoneID, of cloud: any CloudDatabase, takesOver: Bool, keys: DevicePublicKeys? = nil) async throws {
        self.takesOver = takesOver
        let report = try await cloud.at(.open).deviceReport(of: name, in: zone)
        if let report, !takesOver, keys == nil || report.keys != keys || report.token != nil {
            throw SyncError(
                .refused, step: .open, at: "zone \(zone)", "a \(report.role) has synced as \(name) before, at \(report.clock), from another database",
                hint: "choose another name with --device; if that database is lost, was detached, or is this one made anew: --take-over")
        }
        seen = report?.nonce
        newest = takesOver ? try await cloud.at(.open).records(in: zone).token?.number ?? 0 : 0
    }

    /// Notes how the database came to its zone and its name, in the transaction that writes the settings.
    func note(madeZone: Bool, in transaction: LocalTransaction) throws {
        try transaction.state.setBootstrapNote(BootstrapNote(madeZone: madeZone))
        if takesOver { try transaction.recordTakeOver(seen: seen, newest: newest) }
    }
}
