import CloudStore
import CommitLog
import Platform

/// A descriptor that is closed once: explicitly, with its error seen, or at the latest when nobody holds it any more.
///
/// Not for several threads at once while it is being closed; reading through ``number`` from several threads is fine.
final class OpenDescriptor {
    /// The descriptor; -1 after ``close()``.
    private(set) var number: Int32
    private let calls: any FileSystemCalls

    init(_ number: Int32, _ calls: any FileSystemCalls) {
        self.number = number
        self.calls = calls
    }

    deinit {
        // Only files that were read, or given up, are left to this: what a close would report no longer matters.
        try? close()
    }

    /// Closes now.
    func close() throws(SystemFault) {
        guard number >= 0 else { return }
        let closing = number
        number = -1
        try calls.close(closing)
    }
}
