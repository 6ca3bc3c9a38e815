import ProjectSharing

/// Loads shared projects again after each change.
enum SharedChanges {
    /// Calls `load` now and after each change by another device, until the task is cancelled.
    ///
    /// - Parameter failed: called with the error if the zone's changes cannot be observed. The loaded data stays.
    @MainActor static func follow(
        _ sharing: ProjectSharing, every interval: Duration, failed: @MainActor (any Error) -> Void, load: @MainActor () async -> Void
    ) async {
        do {
            // Start observing before the first load, so that no change in between is missed.
            let changes = try await sharing.changes(every: interval)
            await load()
            for await _ in changes { await load() }
        } catch {
            await load()
            failed(error)
        }
    }
}
