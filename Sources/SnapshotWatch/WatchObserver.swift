package import SnapshotEngine

/// Receives the begin, progress and end of every run of a watch, even without an event. A user interface uses it to show activity.
package struct WatchObserver: Sendable {
    /// Called when a run begins.
    package let began: @Sendable () -> Void
    /// Called with the run's progress.
    package let progress: ProgressHandler
    /// Called when the run has ended, after the events about its result.
    package let ended: @Sendable () -> Void

    package init(began: @escaping @Sendable () -> Void, progress: @escaping ProgressHandler, ended: @escaping @Sendable () -> Void) {
        (self.began, self.progress, self.ended) = (began, progress, ended)
    }
}
