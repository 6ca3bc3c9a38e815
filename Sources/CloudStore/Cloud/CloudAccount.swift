import Synchronization

/// The state of the user's account. It notifies listeners of changes.
///
///     let account = CloudAccount()
///     let options = GateOptions(account: account)
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

/// Whether the user's cloud can be used. CloudKit's five states.
public enum AccountStatus: String, Hashable, Sendable, CaseIterable {
    /// The cloud can be used.
    case available
    /// Nobody is signed in, or there is no cloud in the expected place.
    case noAccount
    /// The account, or this user of the system, may not use the cloud.
    case restricted
    /// The state is unknown.
    case couldNotDetermine
    /// There is an account, but it cannot be used at the moment; or the directory is not mounted.
    case temporarilyUnavailable
}

extension AccountStatus {
    /// The error of a private zone in this state; nil if the account is available.
    ///
    /// - Parameter place: the subject of the request.
    public func error(at place: String) -> CloudError? {
        switch self {
        case .available: nil
        case .noAccount:
            CloudError(.notAuthenticated, at: place, "there is no account", hint: "sign in; what was changed here is kept")
        case .restricted:
            CloudError(.managedAccountRestricted, at: place, "the account may not use the location", hint: "ask whoever manages the account")
        case .couldNotDetermine:
            CloudError(.accountTemporarilyUnavailable, at: place, "the account's state is not known", hint: "try again later", isRetryable: true)
        case .temporarilyUnavailable:
            CloudError(
                .accountTemporarilyUnavailable, at: place, "the account cannot be used just now", hint: "try again later", isRetryable: true)
        }
    }
}

extension AccountStatus {
    /// The state of an account whose cloud's identity could not be read.
    init(_ error: any Error) {
        self =
            switch (error as? CloudError)?.code {
            case .cloudUnavailable, .accountTemporarilyUnavailable: .temporarilyUnavailable
            case .notACloud, .badContainer, .notAuthenticated: .noAccount
            case .permissionFailure, .managedAccountRestricted: .restricted
            default: .couldNotDetermine
            }
    }
}
