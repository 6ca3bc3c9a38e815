import CloudStore
import RecordZones

/// The records that were removed from the cloud.
public struct ShareRemoval: Sendable {
    public let itemCount: Int
    /// The comments of all authors, which are deleted together with the project.
    public let commentCount: Int
}

extension ProjectSharing {
    /// Removes a project with all its items and comments.
    ///
    /// Other devices see either the complete project or none. One commit removes everything if the cloud accepts one of that size. Otherwise
    /// the comments are deleted first, then the project in one commit, then its items, which no device shows any more. After an
    /// interruption, call it again to complete the removal.
    ///
    /// - Throws: ``CloudError`` with `.unknownItem` if the project is not shared, `.permissionFailure` if another device shared it, and the
    ///   errors of ``CloudZone/modify(saving:deleting:savePolicy:atomically:)``.
    @discardableResult
    public func remove(_ id: String) async throws -> ShareRemoval {
        guard let record = try await record(of: id) else { return try await removeRemains(of: id) }
        try verifyOwner(record, id)
        let items = try await names(ShareRecords.items(ofProject: id))
        let comments = try await names(ShareRecords.comments(ofProject: id))
        let removal = ShareRemoval(itemCount: items.count, commentCount: comments.count)
        do {
            // Comments that are posted meanwhile are deleted too, because they refer to the project with `deleteSelf`.
            try await zone.modify(saving: [], deleting: [record.name] + items + comments).get()
        } catch let error as CloudError where error.cause.code == .limitExceeded {
            try await delete(comments[...])
            try await zone.delete(record.name)
            try await delete(items[...])
        }
        return removal
    }

    /// Removes items that an interrupted run of this device left behind: their project was removed or never shown.
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
