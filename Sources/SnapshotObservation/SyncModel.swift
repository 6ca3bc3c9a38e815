public import CloudStore
public import Foundation
public import Observation
public import SnapshotEngine
import SnapshotTools
import SnapshotVersions
public import SnapshotWatch
import StrictText
public import SyncRuns
import Synchronization

/// The state of an application's syncing for a user interface: whether a run is active, its progress, and errors as text.
///
///     @State var sync = SyncModel(engine)
///     …
///     .task { await sync.run() }                            // syncs whenever something changes, until the view goes
///     .refreshable { await sync.sync() }
///     if let failure = sync.failure { Text(failure.title) }
///
/// All members belong to the main actor; the work happens on other threads. Changes that another engine or another process makes in the database
/// are shown after the next run.
@MainActor @Observable public final class SyncModel {
    /// The state of syncing.
    public enum State: String, Sendable, CaseIterable {
        /// No run is active: there was none yet, or the last one succeeded.
        case idle
        /// A run is active.
        case syncing
        /// The gate is closed; ``SyncModel/failure`` says why. Changes are kept.
        case off
        /// The last run failed; ``SyncModel/failure`` says why.
        case failing
    }

    /// The state of syncing.
    public private(set) var state = State.idle
    /// Why the last run failed or why sync is off, with the texts of ``ErrorTable``; nil after a successful run.
    public private(set) var failure: PresentableError?
    /// The progress of the active run; nil if there is no run, or no progress yet.
    public private(set) var progress: SyncProgress?
    /// The time of the last successful run, even before this program was started; nil if there was none.
    public private(set) var lastSuccess: Date?
    /// The number of changes that waited to be published or sent at the last check.
    public private(set) var waitingChanges = 0
    /// The report of the last successful run; nil before the first one.
    public private(set) var lastReport: SyncReport?
    /// The edits that lost to others.
    public let conflicts: ConflictsModel

    @ObservationIgnored private let engine: SyncEngine
    @ObservationIgnored private let language: ErrorLanguage
    @ObservationIgnored private lazy var relay = MainActorRelay<SyncProgress> { [weak self] in
        if self?.state == .syncing { self?.progress = $0 }
    }

    /// Creates a model of an engine's runs. It reads nothing yet.
    ///
    /// - Parameter language: the language of ``failure``.
    public init(_ engine: SyncEngine, language: ErrorLanguage = .preferred) {
        self.engine = engine
        self.language = language
        conflicts = ConflictsModel(engine, language: language)
    }

    /// Reads ``lastSuccess``, ``waitingChanges`` and the conflicts from the database. Does not use the cloud.
    public func refresh() async {
        if let summary = try? await engine.localSummary() {
            lastSuccess = summary.lastSuccess.map { Date(timeIntervalSince1970: Double($0.microseconds) / 1_000_000) }
            waitingChanges = summary.waitingChanges
        }
        await conflicts.refresh()
    }

    /// Syncs once, for a button or a pull to refresh. Does nothing while a run of this model is active.
    public func sync() async {
        guard state != .syncing else { return }
        begin()
        let relay = relay
        do {
            let report = try await engine.sync(progress: { relay.send($0) })
            succeeded(report)
        } catch {
            failed(error)
        }
        await end()
    }

    /// Syncs whenever the database or the cloud changes, until the task is cancelled (``SyncWatcher``). Call it once.
    public func run(_ options: WatchOptions = WatchOptions()) async {
        await refresh()
        let (steps, continuation) = AsyncStream.makeStream(of: Step.self)
        let watcher = SyncWatcher(engine: engine, options: options), relay = relay
        let observer = WatchObserver(began: { continuation.yield(.began) }, progress: { relay.send($0) }, ended: { continuation.yield(.ended($0)) })
        let watch = Task.detached {
            do {
                try await watcher.run(observing: observer) { continuation.yield(.event($0)) }
            } catch {
                continuation.yield(.refused(error))
            }
            continuation.finish()
        }
        await withTaskCancellationHandler {
            // Iterating a stream in a cancelled task ends at once. Use another task, which can still show the end of the last run.
            await Task { for await step in steps { await show(step) } }.value
        } onCancel: {
            watch.cancel()
        }
    }

    /// The reports of a watch, in order.
    private enum Step: Sendable {
        case began
        case event(WatchEvent)
        case ended(SyncError?)
        case refused(any Error)
    }

    private func show(_ step: Step) async {
        switch step {
        case .began: begin()
        case .event(.synced(let report, _, _)): succeeded(report)
        case .event(.failing(let error)): failed(error)
        case .event: break
        case .ended(let error):
            // A watch has no event for an error that repeats, but a sync by hand may have cleared it here.
            if let error, failure == nil { failed(error) }
            await end()
        case .refused(let error):
            failed(error)
            await end()
        }
    }

    private func begin() {
        state = .syncing
        progress = nil
    }

    private func succeeded(_ report: SyncReport) {
        lastReport = report
        failure = nil
    }

    private func failed(_ error: any Error) {
        let shown = PresentableError(error, in: language)
        if !shown.isCancellation { failure = shown }
    }

    /// A watch reports a failure only once, so the last reported failure still counts.
    private func end() async {
        progress = nil
        state = failure.map { $0.identifier?.exact.hasPrefix("gate.") ?? false ? .off : .failing } ?? .idle
        await refresh()
    }
}

/// Passes the newest value to the main actor, even if values arrive faster than it can show them. Older values are dropped.
final class MainActorRelay<Value: Sendable>: Sendable {
    private let pending = Mutex<Value?>(nil)
    private let show: @MainActor @Sendable (Value) -> Void

    init(_ show: @escaping @MainActor @Sendable (Value) -> Void) { self.show = show }

    /// Shows a value soon. Any thread may call it.
    func send(_ value: Value) {
        let isFirst = pending.withLock { pending in
            defer { pending = value }
            return pending == nil
        }
        guard isFirst else { return }
        Task { @MainActor in
            if let value = pending.withLock({ $0.take() }) { show(value) }
        }
    }
}
