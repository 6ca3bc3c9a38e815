import Synchronization

/// Waits between two checks of a zone: until the cloud reports an event, or else for an interval.
///
/// If the cloud reports all events, the interval is at least ``quietInterval``; the check then only makes up for a lost event.
package final class ZoneWait: Sendable {
    /// The shortest interval between two checks without an event.
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
    ///   - interval: how long to wait if the cloud reports no events.
    ///   - others: further events that end a wait.
    package init(
        for zone: ZoneID, of cloud: CloudDatabase, every interval: Duration, or others: AsyncStream<Void>? = nil,
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
    /// - Returns: true when it is time to check, false if the task was cancelled.
    package func next() async -> Bool {
        // Listen before reading the flag, so that an event in between is seen in one of the two.
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

/// What may have changed in a zone. A hint is only a wake-up: it may come twice, late, or for nothing, so the receiver must read the zone.
public enum ZoneHint: Hashable, Sendable {
    /// A commit of that number arrived.
    case commit(Int)
    /// A message of that device arrived.
    case message(from: String)
    /// Anything may have changed, or the cloud appeared or disappeared.
    case anything
}

/// Reports events of one zone for as long as it is retained (``CloudDatabase/events(in:_:)``).
public protocol ZoneEventSource: AnyObject, Sendable {
    /// Starts to listen. Call it again after each ``ZoneHint/anything``, so that it also listens to folders that have appeared since.
    ///
    /// - Returns: why some events will not be reported, as a text, so that the caller must poll as well; nil if all are reported.
    func arm() -> String?
}
