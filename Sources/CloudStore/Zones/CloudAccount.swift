import Synchronization

/// The state of the user's account, told to whoever asks to be told when it changes.
///
///     let account = CloudAccount()
///     let cloud = AccountCloudDatabase(wrapping: directory, account: account)
///     for await status in account.changes { … }
///     account.set(.noAccount)        // somebody signed out
public final class CloudAccount: Sendable {
    private struct State {
        var status: AccountStatus
        var listeners: [Int: AsyncStream<AccountStatus>.Continuation] = [:]
        var next = 0
    }

    private let state: Mutex<State>

    /// An account in that state.
    public init(_ status: AccountStatus = .available) {
        state = Mutex(State(status: status))
    }

    /// The state now.
    public var status: AccountStatus { state.withLock { $0.status } }

    /// Sets the state, and tells the listeners if it is another than before.
    public func set(_ status: AccountStatus) {
        let listeners: [AsyncStream<AccountStatus>.Continuation] = state.withLock { state in
            guard state.status != status else { return [] }
            state.status = status
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.yield(status) }
    }

    /// Asks a cloud for the state and sets it.
    @discardableResult
    public func refresh(from cloud: some CloudDatabase) async -> AccountStatus {
        let status = await cloud.accountStatus()
        set(status)
        return status
    }

    /// Every change from now on, to each listener; only the newest is kept for one that is slow.
    public var changes: AsyncStream<AccountStatus> {
        let (stream, continuation) = AsyncStream.makeStream(of: AccountStatus.self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state in
            state.next += 1
            state.listeners[state.next] = continuation
            return state.next
        }
        continuation.onTermination = { [weak self] _ in self?.forget(id) }
        return stream
    }

    private func forget(_ id: Int) {
        _ = state.withLock { $0.listeners.removeValue(forKey: id) }
    }
}
