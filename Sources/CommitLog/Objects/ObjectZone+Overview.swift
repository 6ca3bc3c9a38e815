import CloudStore

/// The result of listing a zone by folders: whether messages or tickets are waiting, and the state of the object `zone.json`.
struct ZoneOverview: Sendable {
    let hasMessages: Bool
    let hasTickets: Bool
    /// The state of the object `zone.json`; empty if the store does not report it, nil if the object is not there.
    let marker: String?
}

extension ObjectZone {
    /// Lists the zone by folders; nil if the store cannot list by folders.
    func overview() throws(CloudError) -> ZoneOverview? {
        guard let listed = try store.listFolder(path("")) else { return nil }
        let overview = ZoneOverview(
            hasMessages: listed.folders.contains("\(CloudNames.messages)/"), hasTickets: listed.folders.contains("\(CloudNames.waiting)/"),
            marker: listed.objects.first { $0.path == path(ZoneMarker.fileName) }?.state)
        cache.remember(overview, of: history.zone)
        return overview
    }

    /// Reads new commits in order to publish after them, and in parallel what the publish will request next.
    func lookToPublish(after token: ChangeToken) throws -> ZoneChanges {
        cache.setPublishing(history.zone, true)
        var looks: [@Sendable () throws -> ZoneChanges?] = [{ [self] in try HistoryReader(source: self).changes(since: token) }]
        // After a lost race the overview of the previous attempt is still recent.
        if cache.recentOverview(of: history.zone) == nil {
            looks.append { [self] in
                _ = try overview()
                return nil
            }
        }
        if cache.expectsTickets(in: history.zone), !cache.hasTickets(in: history.zone) {
            looks.append { [self] in
                cache.remember(try listedTickets(), in: history.zone)
                return nil
            }
        }
        guard let changes = try store.results(of: looks).compactMap(\.self).first else { throw CloudError(.pending, at: "\(history.zone)", "no look was made") }
        cache.found(changes.commits.count, in: history.zone)
        return changes
    }
}
