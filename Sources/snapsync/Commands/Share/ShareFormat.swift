import SnapshotSync
import StrictText

/// Formats shared projects for people.
enum ShareFormat {
    /// One project in one line.
    static func line(_ project: ShareProjectReport) -> String {
        "\(project.id)  \"\(project.title)\" by \(project.owner), \(items(project.items))\(project.closed ? ", closed" : ""), shared \(project.sharedAt?.description ?? "at an unknown time")"
    }

    /// The lines of a user's text, indented; empty if the text is empty.
    static func text(_ text: String, indent: Int = 2) -> [String] {
        guard !text.isEmpty else { return [] }
        return text.exact.split(separator: "\n", omittingEmptySubsequences: false).map { String(repeating: " ", count: indent) + $0 }
    }

    static func items(_ count: Int) -> String { Format.count(count, "item") }

    static func comments(_ count: Int) -> String { Format.count(count, "comment") }
}
