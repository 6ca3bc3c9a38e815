public import CloudStore
public import Foundation
public import Observation
public import SnapshotEngine
import SnapshotTools
import SnapshotVersions
public import SnapshotWatch
import StrictText

/// What a user interface shows of an application's syncing: whether it runs, how far it is, what went wrong, in words.
///
///     @State var sync = SyncModel(engine)
///     …
///     .task { await sync.run() }                            // syncs whenever something changes, until the view goes
///     .refreshable { await sync.sync() }
///     if let failure = sync.failure { Text(failure.title) }
///
/// All members belong to the main actor; the work is done elsewhere. What another engine or another process does to the database shows after
/// the next run.
@MainActor @Observable public final class SyncModel {
    /// What is going on.
    public enum State: String, Sendable, CaseIterable {
        /// Nothing: no run yet, or the last one ended well.
        case idle
        /// A run is under way.
        case syncing
        /// The gate is closed: ``SyncModel/failure`` says why. Changes are kept.
        case off
        /// The last run failed: ``SyncModel/failure`` says why.
        case failing
    }

    /// What is going on.
    public private(set) var state = State.idle
    /// Why the last run failed or why nothing is synced, in the words of ``ErrorTable``; nil after a run that ended well.
    public private(set) var failure: PresentableError?
    /// How far the run under way has come; nil if none is, or it has not told yet.
    public private(set) var progress: SyncProgress?
    /// When a run last ended well, also before this program was started; nil if none has.
    public private(set) var lastSuccess: Date?
    /// How many changes waited to be published or sent when this was last looked at.
    public private(set) var waitingChanges = 0
    /// What the last run that ended well has done; nil before the first.
    public private(set) var lastReport: SyncReport?
    /// The edits that lost.
    public let conflicts: ConflictsModel

    @ObservationIgnored private let engine: SyncEngine
    @ObservationIgnored private let language: ErrorLanguage
    @ObservationIgnored private lazy var relay = MainActorRelay<SyncProgress> { [weak self] in
        if self?.state == .syncing { self?.progress = $0 }
    }

    /// A model of an engine's runs. Nothing is read yet.
    ///
    /// - Parameter language: the language of ``failure``.
    public init(_ engine: SyncEngine, language: ErrorLanguage = .preferred) {
        self.engine = engine
        self.language = language
        conflicts = ConflictsModel(engine, language: language)
    }

    /// Reads what the database says: ``lastSuccess``, ``waitingChanges`` and the conflicts. The cloud is not touched.
    public func refresh() async {
        if let summary = try? await engine.localSummary() {
            lastSuccess = summary.lastSuccess.map { Date(timeIntervalSince1970: Double($0.microseconds) / 1_000_000) }
            waitingChanges = summary.waitingChanges
        }
        await conflicts.refresh()
    }

    /// Syncs once: a button, a pull to refresh. Does nothing while a run that this model knows of is under way.
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
        let observer = WatchObserver(began: { continuation.yield(.began) }, progress: { relay.send($0) }, ended: { continuation.yield(.ended) })
        let watch = Task.detached {
            do {
                try await watcher.run(observing: observer) { continuation.yield(.told($0)) }
            } catch {
                continuation.yield(.refused(error))
            }
            continuation.finish()
        }
        await withTaskCancellationHandler {
            // A stream that is iterated in a cancelled task ends at once; this one has to tell how the last run ends.
            await Task { for await step in steps { await take(step) } }.value
        } onCancel: {
            watch.cancel()
        }
    }

    /// What a watch tells, in its order.
    private enum Step: Sendable {
        case began, ended
        case told(WatchEvent)
        case refused(any Error)
    }

    private func take(_ step: Step) async {
        switch step {
        case .began: begin()
        case .told(.synced(let report, _, _)): succeeded(report)
        case .told(.failing(let error)): failed(error)
        case .told: break
        case .ended: await end()
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

    /// A watch tells a failure once, so what was told before still counts.
    private func end() async {
        progress = nil
        state = failure.map { $0.identifier?.hasPrefix("gate.") ?? false ? .off : .failing } ?? .idle
        await refresh()
    }
}
