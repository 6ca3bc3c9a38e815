/// Whether the user's cloud can be used. CloudKit's five states.
public enum AccountStatus: String, Hashable, Sendable, CaseIterable {
    /// It can.
    case available
    /// Nobody is signed in; or no cloud is where one was expected.
    case noAccount
    /// The account, or this user of the system, may not use it.
    case restricted
    /// Nobody can tell.
    case couldNotDetermine
    /// There is an account, and it cannot be used just now; or the directory is not mounted.
    case temporarilyUnavailable
}

extension AccountStatus {
    /// The error that a private zone gives in this state; nil if the account is available.
    ///
    /// - Parameter place: what was asked for.
    public func error(at place: String) -> CloudError? {
        switch self {
        case .available: nil
        case .noAccount:
            CloudError(.notAuthenticated, at: place, "there is no account", hint: "sign in; what was changed here is kept")
        case .restricted:
            CloudError(.managedAccountRestricted, at: place, "the account may not use the cloud", hint: "ask whoever manages the account")
        case .couldNotDetermine:
            CloudError(.accountTemporarilyUnavailable, at: place, "the account's state is not known", hint: "try again later", isRetryable: true)
        case .temporarilyUnavailable:
            CloudError(
                .accountTemporarilyUnavailable, at: place, "the account cannot be used just now", hint: "try again later", isRetryable: true)
        }
    }
}

extension RecordDatabase {
    /// Whether the cloud can be used, found by asking it who it is.
    public func accountStatus() async -> AccountStatus {
        do {
            _ = try await identity()
            return .available
        } catch let error as CloudError {
            switch error.code {
            case .cloudUnavailable, .accountTemporarilyUnavailable: return .temporarilyUnavailable
            case .notACloud, .badContainer, .notAuthenticated: return .noAccount
            case .permissionFailure, .managedAccountRestricted: return .restricted
            default: return .couldNotDetermine
            }
        } catch {
            return .couldNotDetermine
        }
    }
}
