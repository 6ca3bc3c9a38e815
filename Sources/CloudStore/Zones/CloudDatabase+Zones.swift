public import StrictText

extension CloudDatabase {
    /// Deletes a zone with all its records. Every device that reads the zone gets the reason.
    ///
    /// From then on every request to the zone throws `userDeletedZone` with the reason. A device keeps its own data until the application
    /// decides about it. Kept versions can still be read by number. The deletion is a commit, and competes with other commits for its number
    /// like any other.
    ///
    /// - Parameter device: the device that deletes the zone; it must be allowed to publish there.
    /// - Throws: ``CloudError`` with `.userDeletedZone` if the zone is already deleted, `.zoneNotFound`, `.notAuthorized`, `.zoneBusy`.
    public func deleteZone(
        _ zone: ZoneID, reason: ZoneDeletion.Reason = .deleted, by device: String, retry: RetryPolicy = RetryPolicy(),
        now: @Sendable () -> Instant = { .now }, clock: any Clock<Duration> = ContinuousClock()
    ) async throws {
        try await change(zone, .deleted(reason), by: device, retry: retry, now: now, clock: clock) { try await records(in: zone).token }
    }

    /// Creates a deleted zone again: empty, and with the same publisher rule. The history continues, so every device learns of the deletion
    /// and of the new creation.
    ///
    /// - Throws: ``CloudError`` with `.invalidArguments` if the zone was not deleted; otherwise as
    ///   ``deleteZone(_:reason:by:retry:now:clock:)``.
    public func recreateZone(
        _ zone: ZoneID, by device: String, retry: RetryPolicy = RetryPolicy(), now: @Sendable () -> Instant = { .now },
        clock: any Clock<Duration> = ContinuousClock()
    ) async throws {
        try await change(zone, .created, by: device, retry: retry, now: now, clock: clock) { try await history(in: zone).last?.token }
    }

    /// The zones that exist, are not deleted and do not continue in another zone, sorted by scope and name.
    public func liveZones() async throws -> [ZoneInfo] {
        var live: [ZoneInfo] = []
        for zone in try await zones() {
            do {
                _ = try await records(in: zone.id)
                live.append(zone)
            } catch let error as CloudError where error.code == .userDeletedZone || error.code == .zoneMoved {}
        }
        return live
    }

    private func change(
        _ zone: ZoneID, _ event: ZoneEvent, by device: String, retry: RetryPolicy, now: () -> Instant, clock: any Clock<Duration>,
        after token: () async throws -> ChangeToken?
    ) async throws {
        for loss in 1...retry.attempts {
            var draft = CommitDraft(device: device, saving: [], clock: now())
            draft.zoneEvent = event
            do {
                _ = try await publish(try await prepare(draft, after: try await token(), in: zone))
                return
            } catch let error as CloudError where error.code == .serverRecordChanged {
                guard loss < retry.attempts else { break }
                try await clock.sleep(for: retry.delay(after: loss))
            }
        }
        throw retry.exhausted(at: zone)
    }
}
