import CloudStore
import Platform

/// A descriptor that is closed exactly once: explicitly, with its error reported, or else when the last reference is released.
///
/// Closing must not happen while other threads use it; reading through ``number`` from several threads is fine.
final class OpenDescriptor {
    /// The descriptor; -1 after ``close()``.
    private(set) var number: Int32
    private let calls: any FileSystemCalls

    init(_ number: Int32, _ calls: any FileSystemCalls) {
        self.number = number
        self.calls = calls
    }

    deinit {
        // Only files that were read or abandoned are closed here. An error of close no longer matters for them.
        try? close()
    }

    /// Closes the descriptor now.
    func close() throws(SystemFault) {
        guard number >= 0 else { return }
        let closing = number
        number = -1
        try calls.close(closing)
    }
}
