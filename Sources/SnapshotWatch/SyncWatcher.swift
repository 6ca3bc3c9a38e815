public import CloudStore
public import Foundation
import LocalTables
public import SnapshotEngine
import SnapshotVersions
package import StrictText
package import SyncRuns

/// Syncs a database whenever it or the cloud changes, and also at a regular poll.
///
///     let watcher = SyncWatcher(engine: engine)
///     try await watcher.run { event in print(event) }      // until the task is cancelled
///
/// File system events only wake the watch; each ``SyncEngine/sync(allowing:progress:)`` reads again what there is to do. Between runs nothing is
/// locked, and other runs on the same database do no harm. An error does not end a watch: it is reported once, and the sync is tried again.
package final class SyncWatcher: Sendable {
    private let options: WatchOptions
    private let clock: any Clock<Duration>
    private let open: @Sendable () throws -> SyncEngine

    /// Watches with an engine. Its change notices and its connection see what the watch imports, and changes of the gate's sources wake the watch
    /// (``SyncGate/decisions()``). A backend of the application's own that reports no events (``CloudDatabase/events(in:_:)``) is polled.
    ///
    /// - Parameter engine: an engine on a database that is set up. The file must not be replaced.
    package convenience init(engine: SyncEngine, options: WatchOptions = WatchOptions(), clock: any Clock<Duration> = ContinuousClock()) {
        self.init(options: options, clock: clock) { engine }
    }

    /// Watches a database that another file may replace.
    ///
    /// - Parameter open: opens an engine, at the beginning, after a failure, and if another file is in the database's place.
    package init(options: WatchOptions = WatchOptions(), clock: any Clock<Duration> = ContinuousClock(), open: @escaping @Sendable () throws -> SyncEngine) {
        (self.options, self.clock, self.open) = (options, clock, open)
    }

    /// Watches until the task is cancelled. The call returns after the current run has finished.
    ///
    /// - Throws: ``SyncError`` if the database cannot be opened or is not set up when the watch begins. Later errors are events.
    package func run(_ tell: @escaping @Sendable (WatchEvent) -> Void) async throws { try await run(observing: nil, tell) }

    /// Does the same, and reports each run's begin, progress and end.
    package func run(observing observer: WatchObserver?, _ tell: @escaping @Sendable (WatchEvent) -> Void) async throws {
        try await WorkerThreads.host { try await watch(observer, tell) }
    }

    private func watch(_ observer: WatchObserver?, _ tell: @escaping @Sendable (WatchEvent) -> Void) async throws {
        let start = ContinuousClock.now
        let time: @Sendable () -> Duration = { ContinuousClock.now - start }
        let signal = WakeSignal()
        var schedule = WatchSchedule(options)
        var news = WatchNews()
        let engine = try open()
        var device = try WatchedDevice(engine, reopening: open)
        let databaseEvents = DatabaseEvents(database: device.database) { signal.raise($0 ? .transaction : .database) }
        var zone = device.zone, zoneEvents = device.zoneEvents { signal.raise(.init($0)) }
        let gateChanges = engine.gate.changes(), gateEvents = Task { for await _ in gateChanges { signal.raise(.gate) } }
        defer { gateEvents.cancel() }
        var reported: Set<String> = []
        tell(.started(database: device.database, poll: options.poll))

        while !Task.isCancelled {
            record(signal.take(), device, in: &schedule, at: time())
            switch schedule.step(at: time()) {
            case .wait(let until):
                await signal.wait(for: until - time(), on: clock)
            case .look:
                schedule.looked(found: device.hasChanges(), at: time())
            case .sync(let cause):
                for reason in [databaseEvents.arm(), zoneEvents.map { $0.arm() } ?? "the backend of this location reports no events"].compactMap({ $0 })
                where reported.insert(reason).inserted { tell(.polling(reason: reason)) }
                schedule.begins()
                let began = time()
                observer?.began()
                let result = await device.sync(progress: observer?.progress)
                switch result {
                case .success(let report):
                    if device.zone != zone { (zone, zoneEvents) = (device.zone, device.zoneEvents { signal.raise(.init($0)) }) }
                    schedule.succeeded(at: time(), jitter: .random(in: 0...1))
                    if let event = news.succeeded() { tell(event) }
                    tell(.synced(report, cause: cause, took: time() - began))
                    observer?.ended(nil)
                case .failure(let error):
                    schedule.failed(retrying: error.isWorthRetrying, at: time(), jitter: .random(in: 0...1))
                    if let event = news.failed(error, at: time()) { tell(event) }
                    observer?.ended(error)
                }
            }
        }
    }

    /// Passes events to the schedule, except those that this device caused or has handled already.
    private func record(_ wakes: Set<WakeSignal.Wake>, _ device: WatchedDevice, in schedule: inout WatchSchedule, at now: Duration) {
        let mayBeCommit = wakes.contains(.transaction)
        if mayBeCommit || wakes.contains(.database) { schedule.databaseWritten(at: now, mayBeCommit: mayBeCommit) }
        for wake in wakes {
            switch wake {
            case .database, .transaction: break
            case .commit(let number): if number > device.knownVersion { schedule.cloudChanged() }
            case .message(let sender): if device.reads(messagesFrom: sender) { schedule.cloudChanged() }
            // After a sign-in or a purchase, sync at once instead of at the next poll.
            case .directory, .gate: schedule.cloudMoved(at: now)
            }
        }
    }
}

extension WakeSignal.Wake {
    init(_ hint: ZoneHint) {
        switch hint {
        case .commit(let number): self = .commit(number)
        case .message(let sender): self = .message(from: sender)
        case .anything: self = .directory
        }
    }
}

extension SyncError {
    /// Whether a watch retries soon. This includes an unavailable cloud and disk errors, because these may pass on their own.
    var isWorthRetrying: Bool { isRetryable || code == .cloudUnavailable || code == .inputOutput }
}

/// Decides which results of a watch's runs become events: each problem once, and its end.
struct WatchNews: Sendable {
    /// How long runs may be postponed (by another run, or by a file that has not arrived) before this is reported.
    static let patience = Duration.seconds(10)

    private var reported: SyncError?
    private var failingSince: Duration?

    /// A run failed. Returns the event to report; nil if there is nothing new to report.
    mutating func failed(_ error: SyncError, at now: Duration) -> WatchEvent? {
        let since = failingSince ?? now
        failingSince = since
        if error.code == .tryAgainLater, now - since < Self.patience { return nil }
        if let reported, reported.code == error.code, reported.place == error.place, reported.reason == error.reason { return nil }
        reported = error
        return .failing(error)
    }

    /// A run succeeded. Returns the event to report; nil if there is nothing new to report.
    mutating func succeeded() -> WatchEvent? {
        failingSince = nil
        return reported.take() == nil ? nil : .recovered
    }
}

/// Receives the begin, progress and end of every run of a watch, even without an event. A user interface uses it to show activity.
package struct WatchObserver: Sendable {
    /// Called when a run begins.
    package let began: @Sendable () -> Void
    /// Called with the run's progress.
    package let progress: ProgressHandler
    /// Called when the run has ended, after the events about its result, with the error of a failed run; an error that repeats has no event.
    package let ended: @Sendable (SyncError?) -> Void

    package init(began: @escaping @Sendable () -> Void, progress: @escaping ProgressHandler, ended: @escaping @Sendable (SyncError?) -> Void) {
        (self.began, self.progress, self.ended) = (began, progress, ended)
    }
}

/// What an engine's syncing is doing now. `SyncModel` of the module SnapshotObservation is the observable form.
public enum SyncState: Sendable {
    /// Sync is off: the user has not turned it on, is not entitled, or is not signed in.
    case off
    /// No run is active, and the last one did not fail. `last` is the time of the last successful run, even before this program was started.
    case idle(last: Date?)
    case syncing
    /// The last run failed. A watch tries again.
    case failed(PresentableError)
}

extension SyncEngine {
    /// Syncs now and after every change of the database or the zone, until the task is cancelled. File system events only wake it, and it polls besides.
    ///
    ///     let task = Task { try await sync.run() }
    ///
    /// - Parameter tell: gets what happens, on any thread.
    /// - Throws: ``SyncError`` if the database cannot be read at the beginning. Later errors do not end it; ``state`` has them.
    public func run(_ options: WatchOptions = WatchOptions(), telling tell: @escaping @Sendable (WatchEvent) -> Void = { _ in }) async throws {
        try await SyncWatcher(engine: self, options: options).run(tell)
    }

    /// What this engine's syncing is doing now. Reads the database, but not the location.
    public var state: SyncState {
        if activity.isRunning { return .syncing }
        do {
            guard try gate.standing() == .open else { return .off }
            if let failure = activity.failure { return .failed(failure) }
            let last = try database.read { try $0.state.lastSuccess(of: $0.settings.read().role) }
            return .idle(last: last.map { Date(timeIntervalSince1970: Double($0.microseconds) / 1_000_000) })
        } catch {
            return .failed(PresentableError(error, in: .preferred))
        }
    }
}
