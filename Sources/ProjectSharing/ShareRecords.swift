import CloudStore
import RecordZones
import SnapshotModel
import StrictText

/// How projects, items and comments are stored as records. Source: docs/from-cloudkit.md, "The records".
enum ShareRecords {
    static let project = "Project", item = "Item", comment = "Comment"
    /// The field of items and comments that refers to their project's record.
    static let link = "project"

    /// The name of a project's record: `p-` and its id. If that is not a valid name, a hash of the id.
    static func name(ofProject id: String) -> String {
        let plain = "p-" + id
        return CloudNames.isName(plain) ? plain : "px-" + ContentHash.of(id.utf8).prefix(48)
    }

    /// The name of an item's record. It does not depend on the item's id. `position` counts from 1.
    static func name(ofItem position: Int, generation: String) -> String { "i-\(generation)-\(position)" }

    /// The record of a project: the existing record with new field values, or a new one.
    static func record(of draft: ProjectDraft, owner: String, generation: String, replacing existing: CloudRecord?) -> CloudRecord {
        var record = existing ?? CloudRecord(type: project, name: name(ofProject: draft.id), fields: [:])
        record.fields["id"] = .string(draft.id)
        record.fields["title"] = .string(draft.title)
        record.fields["detail"] = .string(draft.detail)
        record.fields["closed"] = .boolean(draft.isClosed)
        record.fields["owner"] = .string(owner)
        record.fields["generation"] = .string(generation)
        record.fields["itemCount"] = .integer(Int64(draft.items.count))
        return record
    }

    /// The records of a project's items. Their references do not require the project to exist, because a publication in several commits
    /// saves the items first.
    static func records(ofItemsOf draft: ProjectDraft, generation: String) -> [CloudRecord] {
        let target = RecordReference(to: name(ofProject: draft.id))
        return draft.items.enumerated().map { index, one in
            CloudRecord(
                type: item, name: name(ofItem: index + 1, generation: generation),
                fields: [
                    link: .reference(target), "generation": .string(generation), "position": .integer(Int64(index + 1)), "id": .string(one.id),
                    "title": .string(one.title), "detail": .string(one.detail), "completed": .boolean(one.isCompleted),
                ])
        }
    }

    /// The query for all items of a project, from all publications.
    static func items(ofProject id: String) -> RecordQuery {
        RecordQuery(item, where: .refers(.field(link), to: name(ofProject: id)), sortedBy: [RecordSort("position")])
    }

    /// The query for a project's comments, oldest first.
    static func comments(ofProject id: String) -> RecordQuery {
        RecordQuery(comment, where: .refers(.field(link), to: name(ofProject: id)), sortedBy: [RecordSort(.creationDate)])
    }

    /// The query for all projects, newest first.
    static let projects = RecordQuery(project, sortedBy: [RecordSort(.creationDate, ascending: false)])
}

extension CloudRecord {
    func text(_ field: String) -> String? { if case .string(let text) = fields[field] { text } else { nil } }
    func flag(_ field: String) -> Bool? { if case .boolean(let flag) = fields[field] { flag } else { nil } }
    func number(_ field: String) -> Int? { if case .integer(let number) = fields[field] { Int(exactly: number) } else { nil } }
}

extension SharedProject {
    /// Reads a record; nil if it is not a project, or is stored under another project's name.
    init?(_ record: CloudRecord) {
        guard record.type == ShareRecords.project, let id = record.text("id"), ShareRecords.name(ofProject: id) == record.name,
            let title = record.text("title"), let detail = record.text("detail"), let isClosed = record.flag("closed"),
            let owner = record.text("owner"), let generation = record.text("generation"), let itemCount = record.number("itemCount"), itemCount >= 0
        else { return nil }
        self.init(
            id: id, title: title, detail: detail, isClosed: isClosed, owner: owner, device: record.creation?.device, sharedAt: record.creation?.at,
            changedAt: record.modification?.at, itemCount: itemCount, generation: generation)
    }
}

extension SharedItem {
    /// Reads a record; nil if it is not an item.
    init?(_ record: CloudRecord) {
        guard record.type == ShareRecords.item, let id = record.text("id"), let title = record.text("title"), let detail = record.text("detail"),
            let isCompleted = record.flag("completed")
        else { return nil }
        self.init(id: id, title: title, detail: detail, isCompleted: isCompleted)
    }
}
