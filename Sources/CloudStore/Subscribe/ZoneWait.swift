import Synchronization

/// Waits between two looks at a zone: until the cloud tells that something may have come, or else for an interval.
///
/// Where the cloud's events tell everything, the interval is at least ``quietInterval``: it only makes up for an event that got lost.
package final class ZoneWait: Sendable {
    /// The shortest interval between two looks for which no event asks.
    package static let quietInterval = Duration.seconds(30)

    private let source: (any ZoneEventSource)?
    private let other: Task<Void, Never>?
    private let interval: Duration
    private let clock: any Clock<Duration>
    private let state: State

    private final class State: Sendable {
        let hasNews = Mutex(false)
        let broadcast = Broadcast<Void>()

        func raise() {
            hasNews.withLock { $0 = true }
            broadcast.send(())
        }
    }

    /// - Parameters:
    ///   - interval: how long to wait where the cloud reports no events.
    ///   - others: what else ends a wait.
    package init(
        for zone: ZoneID, of cloud: any RecordDatabase, every interval: Duration, or others: AsyncStream<Void>? = nil,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        let state = State()
        self.state = state
        self.interval = interval
        self.clock = clock
        source = cloud.events(in: zone) { _ in state.raise() }
        _ = source?.arm()
        other = others.map { others in Task { for await _ in others { state.raise() } } }
    }

    deinit { other?.cancel() }

    /// Waits once.
    ///
    /// - Returns: true when it is time to look, false if the task was cancelled.
    package func next() async -> Bool {
        // Before the flag is read: what comes in between is in one of the two.
        let wakes = state.broadcast.listen()
        let pause = source.map { $0.arm() == nil } ?? false ? max(interval, Self.quietInterval) : interval
        let hasNews = state.hasNews.withLock { flag in
            defer { flag = false }
            return flag
        }
        if hasNews { return !Task.isCancelled }
        let (clock, state) = (clock, state)
        let alarm = Task { if (try? await clock.sleep(for: pause)) != nil { state.raise() } }
        defer { alarm.cancel() }
        for await _ in wakes {
            state.hasNews.withLock { $0 = false }
            return true
        }
        return false
    }
}
