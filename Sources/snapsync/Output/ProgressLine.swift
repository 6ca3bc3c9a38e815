import Foundation
import SnapshotSync
import StrictText

/// One line on a terminal that says how far a step has come, from its second second on. Nothing elsewhere.
final class ProgressLine: @unchecked Sendable {
    // SAFETY: the stored properties are touched under `lock` only.
    private let lock = NSLock()
    private let begin = Date()
    private var shown = Date.distantPast
    private var isShowing = false

    /// The handler to give to the engine; nil where nobody looks: no terminal, or JSON is wanted.
    static func handler(isJSON: Bool) -> (line: ProgressLine, handler: ProgressHandler)? {
        guard !isJSON, StandardStream.error.isTerminal else { return nil }
        let line = ProgressLine()
        return (line, { line.show($0) })
    }

    private func show(_ progress: SyncProgress) {
        lock.withLock {
            let now = Date()
            guard now.timeIntervalSince(begin) > 1, now.timeIntervalSince(shown) > 0.1 else { return }
            shown = now
            isShowing = true
            let total = progress.expectedCount.map { " of \(Format.count($0))" } ?? ""
            try? StandardStream.error.write(
                "\r\u{1B}[K\(progress.step.rawValue) \(VisibleText.escape(progress.dataset)): \(Format.count(progress.entityCount))\(total)")
        }
    }

    /// Takes the line away.
    func clear() {
        lock.withLock {
            guard isShowing else { return }
            isShowing = false
            try? StandardStream.error.write("\r\u{1B}[K")
        }
    }
}
