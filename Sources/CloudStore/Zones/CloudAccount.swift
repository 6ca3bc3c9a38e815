import Synchronization

/// The state of the user's account. It notifies listeners of changes.
///
///     let account = CloudAccount()
///     let cloud = directory.requiring(account)
///     for await status in account.changes { … }
///     account.set(.noAccount)        // somebody signed out
public final class CloudAccount: Sendable {
    private let state: Mutex<AccountStatus>
    private let broadcast = Broadcast<AccountStatus>()

    /// Makes an account in that state.
    public init(_ status: AccountStatus = .available) { state = Mutex(status) }

    /// The present state.
    public var status: AccountStatus { state.withLock { $0 } }

    /// Sets the state, and notifies the listeners if it has changed.
    public func set(_ status: AccountStatus) {
        let hasChanged = state.withLock { state in
            defer { state = status }
            return state != status
        }
        if hasChanged { broadcast.send(status) }
    }

    /// Reads the state from a cloud and sets it.
    @discardableResult
    public func refresh(from cloud: CloudDatabase) async -> AccountStatus {
        let status = await cloud.accountStatus()
        set(status)
        return status
    }

    /// Every change from now on, in a separate stream for each listener. For a slow listener only the newest change is kept.
    public var changes: AsyncStream<AccountStatus> { broadcast.listen() }
}
