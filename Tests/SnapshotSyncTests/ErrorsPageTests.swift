import CloudStore
import Foundation
import LocalStore
import LocalTables
import SnapshotFormat
import StrictText
import TestSupport
import Testing

/// `docs/errors.md` is made from ``ErrorTable``, sorted by the exit statuses of the errors that the engine makes of the rows.
@Suite struct ErrorsPageTests {
    @Test func pageIsUpToDate() throws {
        let project = Repository.root
        let file = project.appending(path: "docs/errors.md")
        if ProcessInfo.processInfo.environment["SNAPSYNC_WRITE_DOCS"] == "1" { try Data(Self.page.utf8).write(to: file) }
        #expect(try String(contentsOf: file, encoding: .utf8) == Self.page, "docs/errors.md does not match the table; it says how to make it again")
    }

    /// The exit statuses, and what they mean; nil for what ends no command, or not always with one status.
    private static let groups: [(code: SyncError.Code?, heading: String)] = [
        (.dataRefused, "65: data refused"), (.nothingThere, "66: not found"), (.cloudUnavailable, "69: folder or bucket unreachable"),
        (.inputOutput, "74: reading or writing failed"), (.tryAgainLater, "75: try again later"), (.permissionDenied, "77: permission denied"),
        (.refused, "78: refused by a guard or a setting"), (nil, "Others"),
    ]

    private static var page: String {
        let foreign = ErrorTable.entries.filter { !$0.isRaisedHere }.map { "`\($0.name ?? "")` (\($0.number ?? 0))" }.joined(separator: ", ")
        var lines = [
            "# Errors",
            "",
            "Every error has an identifier that never changes. Log it, and look it up with `snapsync explain IDENTIFIER`. In an application,",
            "`PresentableError(error, in: .preferred)` makes a title, a message and a next step in English or Italian ([the library](embedding.md)).",
            "",
            "The errors are sorted by [exit status](running.md). The number after an identifier is CloudKit's `CKError.Code` with the same meaning.",
            "*Next step* is the text for an application's users.",
            "",
            "`SNAPSYNC_WRITE_DOCS=1 swift test --filter ErrorsPageTests` generates this page.",
        ]
        let raised = ErrorTable.entries.filter(\.isRaisedHere)
        for (code, heading) in groups {
            lines += ["", "## \(heading)", "", "| identifier | meaning | next step |", "|---|---|---|"]
            lines += raised.filter { Self.code(of: $0) == code }.map { entry in
                "| `\(entry.identifier)`\(entry.number.map { " (\($0))" } ?? "") | \(entry.meaning) | \(entry.text(in: .english).nextStep) |"
            }
        }
        lines += [
            "",
            "`partialFailure` wraps the errors of records: use `CloudError.cause`.",
            "",
            "snapsync never raises these codes of CloudKit. They have texts for programs that handle them: \(foreign).",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    /// The code of the engine's error for a row; nil if no command ends with it, or not always with one status.
    private static func code(of entry: ErrorEntry) -> SyncError.Code? {
        let name = String(entry.identifier.drop { $0 != "." }.dropFirst())
        switch entry.identifier.prefix(while: { $0 != "." }) {
        case "cloud": return name == "partialFailure" ? nil : SyncError(CloudError(CloudError.Code(name: name), at: "", ""), step: .fetch).code
        case "sync": return SyncError.Code(name: name)
        case "database": return SyncError.DatabaseFault.allCases.first { "\($0)" == name }.map { SyncError(database: $0, at: "", "").code }
        case "gate": return .refused
        default:
            switch name {
            case "tooLarge", "notAContainer": return SyncError.FormatFault.allCases.first { "\($0)" == name }.map { SyncError(format: $0, at: "", "").code }
            case "badDescription": return .refused
            default: return nil
            }
        }
    }
}
