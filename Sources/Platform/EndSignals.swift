import Dispatch
import Foundation

/// The signals with which a user or an init system ends a program: SIGTERM and SIGINT.
package enum EndSignals {
    /// Runs `body` as a task and waits for its end. The first such signal cancels the task.
    ///
    /// The signals have no other effect meanwhile.
    ///
    /// - Throws: what `body` throws.
    package static func cancel(_ body: @escaping @Sendable () async throws -> Void) async throws {
        let task = Task(operation: body)
        let sources = [SIGTERM, SIGINT].map { number in
            System.leaveToDispatch(number)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { task.cancel() }
            source.resume()
            return source
        }
        defer { for source in sources { source.cancel() } }
        try await withTaskCancellationHandler(operation: { try await task.value }, onCancel: { task.cancel() })
    }
}
