import SnapshotModel
import ProjectSharing
import SnapshotSync
import StrictText

/// The output of `share publish --json`.
struct SharePublishReport: Encodable {
    let project: String
    let owner: String
    let device: String
    let zone: String
    let outcome: SharePublication
    let items: Int
}

/// The output of `share status --json`.
struct ShareStatusReport: Encodable {
    let project: String
    let zone: String
    let status: SharedProjectStatus
}

/// A project in the output of `share list --json` and `share show --json`.
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

/// The output of `share list --json`.
struct ShareListReport: Encodable {
    let zone: String
    let state: LoadState
    let page: Int
    let hasMore: Bool
    let projects: [ShareProjectReport]
    let unreadable: [String]
}

/// The output of `share show --json`.
struct ShareShowReport: Encodable {
    let project: ShareProjectReport
    let items: [SharedItem]
}

/// The output of `share remove --json`.
struct ShareRemoveReport: Encodable {
    let project: String
    let zone: String
    let comments: Int
}

/// The output of `share comment --json`.
struct ShareCommentReport: Encodable {
    let project: String
    let comment: ProjectComment
}

/// The output of `share comments --json`.
struct ShareCommentsReport: Encodable {
    let project: String
    let state: LoadState
    let comments: [ProjectComment]
}

/// Formats shared projects for people.
enum ShareFormat {
    static func line(_ project: ShareProjectReport) -> String {
        "\(project.id)  \"\(project.title)\" by \(project.owner), \(items(project.items))\(project.closed ? ", closed" : ""), shared \(project.sharedAt?.description ?? "at an unknown time")"
    }

    /// The lines of a user's text, indented; empty if the text is empty.
    static func text(_ text: String, indent: Int = 2) -> [String] {
        guard !text.isEmpty else { return [] }
        return text.exact.split(separator: "\n", omittingEmptySubsequences: false).map { String(repeating: " ", count: indent) + $0 }
    }

    static func items(_ count: Int) -> String { Format.count(count, "item") }
}
