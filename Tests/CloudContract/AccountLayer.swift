package import CloudStore

/// Refuses the calls of private zones, and writes to public ones, without an account.
private struct AccountLayer: CloudLayer {
    let account: CloudAccount

    func willCall(_ call: CloudCall, in zone: ZoneID?) async throws {
        guard let zone, call.writes || zone.scope == .private else { return }
        if let error = account.status.error(at: "\(zone)") { throw error }
    }
}

extension CloudDatabase {
    /// Returns the database, which refuses what needs an account while there is none.
    package func requiring(_ account: CloudAccount) -> CloudDatabase { adding(AccountLayer(account: account)) }
}
