import SnapshotModel
import SnapshotSync
import StrictText

/// What `share publish --json` prints.
struct SharePublishReport: Encodable {
    let project: String
    let owner: String
    let device: String
    let zone: String
    let outcome: String
    let items: Int
}

/// What `share status --json` prints.
struct ShareStatusReport: Encodable {
    let project: String
    let zone: String
    let status: SharedProjectStatus
}

/// One project in `share list --json` and `share show --json`.
struct ShareProjectReport: Encodable {
    let id: String
    let title: String
    let detail: String
    let closed: Bool
    let owner: String
    let device: String?
    let sharedAt: Instant?
    let changedAt: Instant?
    let items: Int

    init(_ project: SharedProject) {
        id = project.id
        title = project.title
        detail = project.detail
        closed = project.isClosed
        owner = project.owner
        device = project.device
        sharedAt = project.sharedAt
        changedAt = project.changedAt
        items = project.itemCount
    }
}

/// What `share list --json` prints.
struct ShareListReport: Encodable {
    let zone: String
    let state: LoadState
    let page: Int
    let hasMore: Bool
    let projects: [ShareProjectReport]
    let unreadable: [String]
}

/// What `share show --json` prints.
struct ShareShowReport: Encodable {
    let project: ShareProjectReport
    let items: [SharedItem]
}

/// What `share remove --json` prints.
struct ShareRemoveReport: Encodable {
    let project: String
    let zone: String
    let items: Int
    let comments: Int
}

/// One comment, as programs see it.
struct ShareCommentLine: Encodable {
    let id: String
    let text: String
    let name: String
    let postedAt: Instant?
    let device: String?

    init(_ comment: ProjectComment) {
        id = comment.id
        text = comment.text
        name = comment.name
        postedAt = comment.postedAt
        device = comment.device
    }
}

/// What `share comment --json` prints.
struct ShareCommentReport: Encodable {
    let project: String
    let comment: ShareCommentLine
}

/// What `share comments --json` prints.
struct ShareCommentsReport: Encodable {
    let project: String
    let state: LoadState
    let comments: [ShareCommentLine]
}
