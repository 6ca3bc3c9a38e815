import CloudStore
import RecordZones
import SnapshotModel
import StrictText

/// How projects and comments are stored as records. Source: docs/from-cloudkit.md, "The records".
enum ShareRecords {
    static let project = "Project", comment = "Comment"
    /// The field of comments that refers to their project's record.
    static let link = "project"

    /// The name of a project's record: `p-` and its id. If that is not a valid name, a hash of the id.
    static func name(ofProject id: String) -> String {
        let plain = "p-" + id
        return CloudNames.isName(plain) ? plain : "px-" + ContentHash.of(id.utf8).prefix(48)
    }

    /// The fields of a project in a list.
    static let keysWithoutItems = ["id", "title", "detail", "closed", "owner", "itemCount"]

    /// The record of a project: the existing record with new field values, or a new one.
    static func record(of draft: ProjectDraft, owner: String, replacing existing: CloudRecord?) throws -> CloudRecord {
        var record = existing ?? CloudRecord(type: project, name: name(ofProject: draft.id), fields: [:])
        record.fields = [
            "id": .string(draft.id), "title": .string(draft.title), "detail": .string(draft.detail), "closed": .boolean(draft.isClosed),
            "owner": .string(owner), "itemCount": .integer(Int64(draft.items.count)), "items": .string(try StrictJSON.text(draft.items)),
        ]
        return record
    }

    /// The items in a project's record; nil if they cannot be read.
    static func items(of record: CloudRecord) -> [SharedItem]? {
        guard let items = record.text("items").flatMap({ try? StrictJSON.decode([SharedItem].self, from: $0) }) else { return nil }
        return items.count == record.number("itemCount") ? items : nil
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
            let owner = record.text("owner"), let itemCount = record.number("itemCount"), itemCount >= 0
        else { return nil }
        self.init(
            id: id, title: title, detail: detail, isClosed: isClosed, owner: owner, device: record.creation?.device, sharedAt: record.creation?.at,
            changedAt: record.modification?.at, itemCount: itemCount)
    }
}
