import Dispatch

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The signals by which a user or an init system ends a program: SIGTERM and SIGINT.
package enum EndSignals {
    /// Runs `body` as a task, which the first such signal cancels, and waits for its end.
    ///
    /// The signals have no other effect.
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
