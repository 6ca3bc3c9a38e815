import Synchronization

/// The state of the user's account, told to whoever asks to be told when it changes.
///
///     let account = CloudAccount()
///     let cloud = AccountCloudDatabase(wrapping: directory, account: account)
///     for await status in account.changes { … }
///     account.set(.noAccount)        // somebody signed out
public final class CloudAccount: Sendable {
    private let state: Mutex<AccountStatus>
    private let broadcast = Broadcast<AccountStatus>()

    /// An account in that state.
    public init(_ status: AccountStatus = .available) { state = Mutex(status) }

    /// The state now.
    public var status: AccountStatus { state.withLock { $0 } }

    /// Sets the state, and tells the listeners if it is another than before.
    public func set(_ status: AccountStatus) {
        let hasChanged = state.withLock { state in
            defer { state = status }
            return state != status
        }
        if hasChanged { broadcast.send(status) }
    }

    /// Asks a cloud for the state and sets it.
    @discardableResult
    public func refresh(from cloud: some CloudDatabase) async -> AccountStatus {
        let status = await cloud.accountStatus()
        set(status)
        return status
    }

    /// Every change from now on, to each listener; only the newest is kept for one that is slow.
    public var changes: AsyncStream<AccountStatus> { broadcast.listen() }
}
