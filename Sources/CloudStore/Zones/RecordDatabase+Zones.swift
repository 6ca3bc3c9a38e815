public import StrictText

extension RecordDatabase {
    /// Deletes a zone with all its records, and says why to every device that reads it.
    ///
    /// From then on whatever is asked of the zone throws `userDeletedZone`, with the reason; what a device does about its own data is
    /// up to it, and until it decides it keeps everything. Kept versions can still be read by number. The deletion is one commit:
    /// it wins or loses against other commits like any other.
    ///
    /// - Parameter device: who deletes it; it must be one that may publish there.
    /// - Throws: ``CloudError`` with `.userDeletedZone` if it was deleted before, `.zoneNotFound`, `.notAuthorized`, `.zoneBusy`.
    public func deleteZone(
        _ zone: ZoneID, reason: ZoneDeletion.Reason = .deleted, by device: String, retry: RetryPolicy = RetryPolicy(),
        now: @Sendable () -> Instant = { .now }, clock: any Clock<Duration> = ContinuousClock()
    ) async throws {
        try await change(zone, .deleted(reason), by: device, retry: retry, now: now, clock: clock) { try await records(in: zone).token }
    }

    /// Makes a zone that was deleted anew: empty, with the same rule of who may publish. History goes on, so that every device
    /// learns of both.
    ///
    /// - Throws: ``CloudError`` with `.invalidArguments` if the zone was not deleted, else as ``deleteZone(_:reason:by:retry:now:clock:)``.
    public func recreateZone(
        _ zone: ZoneID, by device: String, retry: RetryPolicy = RetryPolicy(), now: @Sendable () -> Instant = { .now },
        clock: any Clock<Duration> = ContinuousClock()
    ) async throws {
        try await change(zone, .created, by: device, retry: retry, now: now, clock: clock) { try await history(in: zone).last?.token }
    }

    /// The zones that exist and were not deleted, in the order of scope and name.
    public func liveZones() async throws -> [ZoneInfo] {
        var live: [ZoneInfo] = []
        for zone in try await zones() {
            do {
                _ = try await records(in: zone.id)
                live.append(zone)
            } catch let error as CloudError where error.code == .userDeletedZone {}
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
