import ProjectSharing

/// Loads what is shown of shared projects, again and again.
enum SharedChanges {
    /// Calls `load` now and after each change of another device, until the task is cancelled.
    ///
    /// - Parameter failed: what is told if the zone cannot be listened to; what was loaded stays.
    @MainActor static func follow(
        _ sharing: ProjectSharing, every interval: Duration, failed: @MainActor (any Error) -> Void, load: @MainActor () async -> Void
    ) async {
        do {
            // Before the first load, so that nothing comes between the two unseen.
            let changes = try await sharing.changes(every: interval)
            await load()
            for await _ in changes { await load() }
        } catch {
            await load()
            failed(error)
        }
    }
}
