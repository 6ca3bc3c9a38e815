import Foundation
import SnapshotSync
import StrictText
import Synchronization

/// A progress line on the terminal, shown from the second second of a command on: the progress, the speed, and the remaining time.
///
///     encode notifications: 135,000 of 300,000, 45 %  [#########-----------]  52,310/s, 3 s left
///
/// A process has at most one such line. Output to standard output or standard error removes it first, and a question pauses it.
package final class ProgressLine: @unchecked Sendable {
    // SAFETY: the stored properties are accessed only under `lock`.
    private let lock = NSLock()
    private let title: String
    private let begin = ContinuousClock.now
    private var shown: ContinuousClock.Instant?
    private var isShowing = false
    private var pauses = 0
    private var hasEnded = false
    private var stage: Stage?

    /// One step on one dataset.
    package struct Stage {
        let begin: ContinuousClock.Instant
        let first: SyncProgress
        var latest: SyncProgress

        /// Entities per second; nil until enough is known.
        var rate: Double? {
            let seconds = begin.duration(to: .now) / .seconds(1)
            guard seconds > 0.2, latest.entityCount > first.entityCount else { return nil }
            return Double(latest.entityCount - first.entityCount) / seconds
        }
    }

    private static let current = Mutex<ProgressLine?>(nil)

    /// Begins to show the progress of a command; nil if standard error is no terminal, or one that cannot erase a line.
    ///
    /// - Parameter title: a word for the work, such as `restore`, shown until a step reports its progress.
    package static func begin(_ title: String) -> ProgressLine? {
        guard StandardStream.error.isTerminal, Place.environment("TERM") != "dumb" else { return nil }
        let line = ProgressLine(title)
        current.withLock { $0 = line }
        Task.detached { [weak line] in
            while let line, !line.hasEndedNow {
                try? await Task.sleep(for: .milliseconds(500))
                line.show(nil)
            }
        }
        return line
    }

    private init(_ title: String) { self.title = title }

    /// A handler for the engine's progress reports.
    package var handler: ProgressHandler { { [self] in show($0) } }

    /// Removes the line permanently.
    package func end() {
        Self.current.withLock { if $0 === self { $0 = nil } }
        lock.withLock {
            hasEnded = true
            hide()
        }
    }

    /// Removes the current line until there is new progress to show.
    package static func clear() {
        guard let line = current.withLock(\.self) else { return }
        line.lock.withLock { line.hide() }
    }

    /// Hides the progress while `body` asks the user something.
    package static func pausing<T>(_ body: () throws -> T) rethrows -> T {
        guard let line = current.withLock(\.self) else { return try body() }
        line.lock.withLock {
            line.hide()
            line.pauses += 1
        }
        defer { line.lock.withLock { line.pauses -= 1 } }
        return try body()
    }

    private var hasEndedNow: Bool { lock.withLock { hasEnded } }

    private func show(_ progress: SyncProgress?) {
        lock.withLock {
            let now = ContinuousClock.now
            if let progress {
                if let stage, stage.first.step == progress.step, stage.first.dataset == progress.dataset {
                    self.stage?.latest = progress
                } else {
                    stage = Stage(begin: now, first: progress, latest: progress)
                }
            }
            guard !hasEnded, pauses == 0, begin.duration(to: now) > .seconds(1) else { return }
            guard shown.map({ $0.duration(to: now) > .milliseconds(100) }) ?? true else { return }
            (shown, isShowing) = (now, true)
            let columns = TerminalText(.error).width ?? 80
            let text =
                stage.map { Self.text($0.latest, rate: $0.rate, columns: columns) }
                ?? "\(title): \(AgeText.words(seconds: Int(begin.duration(to: now).components.seconds)))"
            try? StandardStream.error.put("\r\u{1B}[K\(text)")
        }
    }

    /// Removes the line. The caller holds the lock.
    private func hide() {
        guard isShowing else { return }
        isShowing = false
        try? StandardStream.error.put("\r\u{1B}[K")
    }

    /// The line for a step, at most as wide as the terminal.
    ///
    /// - Parameter rate: entities per second, if known.
    package static func text(_ progress: SyncProgress, rate: Double?, columns: Int) -> String {
        let count = progress.entityCount, total = progress.expectedCount.flatMap { $0 >= count && $0 > 0 ? $0 : nil }
        let done = total.map { "\(Format.count(count)) of \(Format.count($0)), \(count * 100 / $0) %" } ?? Format.count(count)
        let left = total.flatMap { total in rate.map { Int((Double(total - count) / max($0, 1)).rounded(.up)) } }
        let speed = [rate.map { "\(Format.count(Int($0)))/s" }, left.map { "\(AgeText.words(seconds: $0)) left" }].compactMap(\.self).joined(separator: ", ")
        let head = "\(progress.step.rawValue) \(VisibleText.escape(progress.dataset)): \(done)", tail = speed.isEmpty ? "" : "  \(speed)"
        let room = min(columns - 1 - head.count - tail.count - 4, 30)
        if let total, room >= 8 {
            let full = room * count / total
            return "\(head)  [\(String(repeating: "#", count: full))\(String(repeating: "-", count: room - full))]\(tail)"
        }
        return String((head + tail).prefix(max(columns - 1, 1)))
    }
}
