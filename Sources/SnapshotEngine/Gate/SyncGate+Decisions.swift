import CloudStore

extension GateOptions {
    /// Yields whenever one of the gate's sources reports a change. Ends with the task that iterates.
    fileprivate func changes(and others: [AsyncStream<Void>]) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        var tasks = (others + [entitlement?.changes, preference?.changes].compactMap(\.self)).map { changes in
            Task { for await _ in changes { continuation.yield() } }
        }
        if let changes = account?.changes { tasks.append(Task { for await _ in changes { continuation.yield() } }) }
        continuation.onTermination = { [tasks] _ in for task in tasks { task.cancel() } }
        return stream
    }
}

extension SyncGate {
    /// Yields whenever the decision may have changed, from now on. Ends with the task that iterates.
    package func changes() -> AsyncStream<Void> { options.changes(and: [signal.listen()]) }

    /// Yields the current decision, then each new one. The entitlement's provider, the bound store, the account, or a changed preference in this
    /// gate trigger a new decision; nothing is polled. Ends with the task that iterates.
    ///
    ///     for try await decision in engine.gate.decisions() { show(decision.reason) }
    ///
    /// If an entitlement ends with time, or another program writes the choice, the next run or decision shows it.
    ///
    /// - Throws: ``SyncError`` if the database can no longer be read; the sequence ends then.
    public func decisions() -> AsyncThrowingStream<GateDecision, any Error> {
        let changes = changes()
        return AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task {
                do {
                    var last = try await decision()
                    continuation.yield(last)
                    for await _ in changes {
                        let next = try await decision()
                        if next != last { continuation.yield(next) }
                        last = next
                    }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}
