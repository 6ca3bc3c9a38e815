extension CloudDatabase {
    /// The same cloud, which needs an account, as CloudKit does. Without one, private zones cannot be used, and public zones can only be read.
    ///
    /// - Parameter account: its state at the time of a call counts.
    /// - Throws: each call the account's error (``AccountStatus/error(at:)``).
    public func requiring(_ account: CloudAccount) -> CloudDatabase { adding(AccountLayer(account: account)) }
}

private struct AccountLayer: CloudLayer {
    let account: CloudAccount

    var accountStatus: AccountStatus? { account.status == .available ? nil : account.status }

    /// Only the zones that can be read in the account's present state.
    func shows(_ zone: ZoneID) -> Bool { zone.scope == .public || account.status == .available }

    func willCall(_ call: CloudCall, in zone: ZoneID?) async throws {
        guard let zone, call.writes || zone.scope == .private else { return }
        if let error = account.status.error(at: "\(zone)") { throw error }
    }
}
