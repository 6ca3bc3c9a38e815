import CloudStore
import RecordZones
import SnapshotEngine
public import SnapshotModel

/// The result of sharing a project.
public struct SharePublication: Sendable {
    /// The change to the shared project.
    public enum Outcome: String, Sendable, Encodable {
        /// The project was not shared before.
        case created
        case replaced
        /// The same project was already shared; no commit was made.
        case unchanged
    }

    public let outcome: Outcome
    /// The number of items that everybody sees now.
    public let itemCount: Int
}

extension ProjectSharing {
    /// Shares a project with its items under an owner's name, and replaces the project that is shared under the same id.
    ///
    /// Other devices see either the complete old project or the complete new one. One commit replaces the project if the cloud accepts one
    /// of that size. Otherwise the new items are saved first, where no device shows them; then one commit switches to them, and finally the
    /// old ones are deleted. Comments are kept. Creates the zone if it is missing.
    ///
    /// - Throws: ``CloudError`` with `.invalidArguments` (``ShareLimits``), `.permissionFailure` if another device shared the project, and
    ///   the errors of ``CloudZone/modify(saving:deleting:savePolicy:atomically:)``.
    @discardableResult
    public func publish(_ draft: ProjectDraft, owner: String) async throws -> SharePublication {
        try ShareLimits.verify(draft, owner: owner)
        if let signedMembers {
            try await signedMembers.prepareToPublish()
        } else {
            _ = try await cloud.createZone(zone.id, creator: zone.device, publishers: .many)
        }
        var lastLoss: CloudError?
        for _ in 1...10 {
            let existing = try await record(of: draft.id)
            if let existing { try verifyOwner(existing, draft.id) }
            let items = try await zone.records(matching: ShareRecords.items(ofProject: draft.id)).records
            do {
                if let existing, isSame(draft, owner, as: existing, items) {
                    // Delete what an interrupted run has left behind.
                    try await delete(items.filter { $0.text("generation") != existing.text("generation") }.map(\.name)[...])
                    return SharePublication(outcome: .unchanged, itemCount: draft.items.count)
                }
                try await replace(existing, items, by: draft, owner: owner)
                return SharePublication(outcome: existing == nil ? .created : .replaced, itemCount: draft.items.count)
            } catch let error as CloudError where [.serverRecordChanged, .unknownItem].contains(error.cause.code) {
                // The project was shared, replaced or removed since it was read. The next attempt checks by which device.
                lastLoss = error.cause
            }
        }
        throw lastLoss ?? absent(draft.id)
    }

    private func replace(_ existing: CloudRecord?, _ oldItems: [CloudRecord], by draft: ProjectDraft, owner: String) async throws {
        let generation = nonces.hex(16)
        let project = ShareRecords.record(of: draft, owner: owner, generation: generation, replacing: existing)
        let items = ShareRecords.records(ofItemsOf: draft, generation: generation)
        let old = oldItems.map(\.name)
        do {
            try await zone.modify(saving: [project] + items, deleting: old).get()
            return
        } catch let error as CloudError where error.cause.code == .limitExceeded {
            guard !items.isEmpty || !old.isEmpty else { throw error.cause }
        }
        do {
            try await save(items[...])
            try await zone.save(project)
        } catch {
            // No device shows these items. If they cannot be deleted now, the next publication deletes them.
            try? await delete(items.map(\.name)[...])
            throw error
        }
        try await delete(old[...])
    }

    /// Whether exactly this project is shared, under this owner's name.
    private func isSame(_ draft: ProjectDraft, _ owner: String, as record: CloudRecord, _ items: [CloudRecord]) -> Bool {
        guard let generation = record.text("generation") else { return false }
        let wanted = ShareRecords.record(of: draft, owner: owner, generation: generation, replacing: nil)
        let shown = items.filter { $0.text("generation") == generation }
        return wanted.fields.allSatisfy { record.fields[$0] == $1 }
            && ShareRecords.records(ofItemsOf: draft, generation: generation).map(\.fields) == shown.map(\.fields)
    }

    /// Refuses to change a project that another device shared.
    func verifyOwner(_ record: CloudRecord, _ id: String) throws(CloudError) {
        guard record.creation?.device != zone.device else { return }
        let owner = record.creation.map { "the device \($0.device) shared it" } ?? "it is not known any more which device shared it"
        throw CloudError(
            .permissionFailure, at: place(id), "\(owner), and only that one may replace or remove it",
            hint: "do it on that device, or share yours under another id")
    }

    /// Saves records in as few commits as the cloud accepts.
    private func save(_ records: ArraySlice<CloudRecord>) async throws {
        try await inParts(records) { try await zone.modify(saving: Array($0)).get() }
    }

    /// Deletes records in as few commits as the cloud accepts.
    func delete(_ names: ArraySlice<String>) async throws {
        try await inParts(names) { try await zone.modify(saving: [], deleting: Array($0)).get() }
    }

    /// Passes all elements to `body` at once. If the cloud refuses so many, passes one half after the other.
    private func inParts<T: Sendable>(_ all: ArraySlice<T>, _ body: (ArraySlice<T>) async throws -> Void) async throws {
        guard !all.isEmpty else { return }
        do {
            try await body(all)
        } catch let error as CloudError where error.cause.code == .limitExceeded && all.count > 1 {
            let middle = all.startIndex + all.count / 2
            try await inParts(all[..<middle], body)
            try await inParts(all[middle...], body)
        }
    }
}
