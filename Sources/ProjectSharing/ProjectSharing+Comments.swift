import CloudStore
import RecordZones
import SnapshotEngine

extension ProjectSharing {
    /// Posts a comment on a shared project of any owner.
    ///
    /// - Throws: ``CommentNotSent`` with the text and the cause: a ``CloudError`` with `.invalidArguments` if text or name is empty, white
    ///   space or too long, with `.unknownItem` if the project is not shared (any more), or another error of the cloud.
    @discardableResult
    public func post(_ text: String, by name: String, on id: String) async throws(CommentNotSent) -> ProjectComment {
        do {
            try ShareLimits.verify(comment: text, by: name)
            guard try await record(of: id, desiredKeys: []) != nil else { throw absent(id) }
            try await signedMembers?.prepareToPublish()
            return try await post(text, by: name, to: ShareRecords.name(ofProject: id))
        } catch let error as CloudError where error.code == .referenceViolation {
            // The project was removed while the comment was being sent.
            throw CommentNotSent(text: text, name: name, cause: absent(id))
        } catch {
            throw CommentNotSent(text: text, name: name, cause: error)
        }
    }

    /// Returns a project's comments, in the order in which they were posted.
    ///
    /// - Throws: ``CloudError`` with `.unknownItem` if the project is not shared.
    public func comments(on id: String) async throws -> [ProjectComment] {
        guard try await record(of: id, desiredKeys: []) != nil else { throw absent(id) }
        return try await zone.records(matching: ShareRecords.comments(ofProject: id)).records.compactMap(ProjectComment.init)
    }

    private func post(_ text: String, by name: String, to project: String) async throws -> ProjectComment {
        let record = CloudRecord(
            type: ShareRecords.comment, name: "c-" + nonces.hex(32),
            fields: [
                ShareRecords.link: .reference(RecordReference(to: project, action: .deleteSelf)), "text": .string(text), "name": .string(name),
            ])
        guard let comment = ProjectComment(try await zone.save(record)) else {
            throw CloudError(.damaged, at: "\(zone.id)", "the comment was saved and came back as something else", hint: "run snapsync doctor")
        }
        return comment
    }
}
