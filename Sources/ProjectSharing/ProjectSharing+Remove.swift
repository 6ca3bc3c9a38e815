import CloudStore

/// What was taken out of the cloud.
public struct ShareRemoval: Sendable {
    public let itemCount: Int
    /// Everybody's: a comment has no place without its project.
    public let commentCount: Int
}

extension ProjectSharing {
    /// Removes a project with all its items and comments.
    ///
    /// For others it is there whole or gone: one commit does it where the cloud takes so much at once; else the comments go first, then
    /// the project, with one commit, then its items, which nobody sees any more. A run that was interrupted is completed by the next.
    ///
    /// - Throws: ``CloudError`` with `.unknownItem` if it is not shared, `.permissionFailure` if another device shared it, and what
    ///   ``CloudZone/modify(saving:deleting:savePolicy:atomically:)`` throws.
    @discardableResult
    public func remove(_ id: String) async throws -> ShareRemoval {
        guard let record = try await record(of: id) else { return try await removeRemains(of: id) }
        try verifyOwner(record, id)
        let items = try await names(ShareRecords.items(ofProject: id))
        let comments = try await names(ShareRecords.comments(ofProject: id))
        let removal = ShareRemoval(itemCount: items.count, commentCount: comments.count)
        do {
            // Comments that are posted meanwhile go too: they hold on to the project.
            try await zone.modify(saving: [], deleting: [record.name] + items + comments).get()
        } catch let error as CloudError where error.cause.code == .limitExceeded {
            try await delete(comments[...])
            try await zone.delete(record.name)
            try await delete(items[...])
        }
        return removal
    }

    /// Removes the items that an interrupted run of this device left behind, whose project is gone or was never shown.
    private func removeRemains(of id: String) async throws -> ShareRemoval {
        let remains = try await items(ofAbsent: id).filter { $0.creation?.device == zone.device }.map(\.name)
        guard !remains.isEmpty else { throw absent(id) }
        try await delete(remains[...])
        return ShareRemoval(itemCount: remains.count, commentCount: 0)
    }

    private func items(ofAbsent id: String) async throws -> [CloudRecord] {
        do {
            return try await zone.records(matching: ShareRecords.items(ofProject: id), desiredKeys: []).records
        } catch let error as CloudError where error.code == .zoneNotFound {
            return []
        }
    }

    private func names(_ query: RecordQuery) async throws -> [String] {
        try await zone.records(matching: query, desiredKeys: []).records.map(\.name)
    }
}
