package import SnapshotEngine
package import SnapshotVersions

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
