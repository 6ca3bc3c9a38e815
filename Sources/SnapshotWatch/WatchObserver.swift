package import SnapshotEngine

/// Hears of each run of a watch, whether it is worth an event or not: for a user interface that shows that something is being done.
package struct WatchObserver: Sendable {
    /// A run begins.
    package let began: @Sendable () -> Void
    /// How far it has come.
    package let progress: ProgressHandler
    /// It has ended, after the events that tell how.
    package let ended: @Sendable () -> Void

    package init(began: @escaping @Sendable () -> Void, progress: @escaping ProgressHandler, ended: @escaping @Sendable () -> Void) {
        (self.began, self.progress, self.ended) = (began, progress, ended)
    }
}
