import StrictText

/// A cloud that needs an account, as CloudKit does. Without one, private zones cannot be used, and public zones can only be read.
public struct AccountCloudDatabase: CloudDatabaseDecorator {
    /// The cloud that does the work.
    public let wrapped: any CloudDatabase
    /// The account. Its state at the time of a call counts.
    public let account: CloudAccount

    /// Wraps a cloud with an account.
    public init(wrapping cloud: any CloudDatabase, account: CloudAccount) {
        wrapped = cloud
        self.account = account
    }

    /// The account's state; if the account is available, the state of the cloud.
    public func accountStatus() async -> AccountStatus {
        account.status == .available ? await wrapped.accountStatus() : account.status
    }

    /// The zones that can be read in the account's present state.
    public func zones() async throws -> [ZoneInfo] {
        let isOpen = account.status == .available
        return try await wrapped.zones().filter { isOpen || $0.id.scope == .public }
    }

    /// Refuses a call that the account does not permit.
    ///
    /// - Throws: the account's error; see ``AccountStatus``.
    public func verify(_ access: ZoneAccess, of zone: ZoneID) throws {
        guard access == .write || zone.scope == .private else { return }
        if let error = account.status.error(at: "\(zone)") { throw error }
    }
}
