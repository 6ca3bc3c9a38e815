public import ArgumentParser
public import CloudStore
import CommandSupport
import SnapshotSync
import StrictText

/// `snapsync explain`: prints a row of the table of errors.
struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Explain an error: what it means, what to do, and what an application shows to people.",
        discussion: """
            Pass an identifier from a JSON error, such as cloud.zoneBusy, or its part after the dot, an exit status from 65, or a number \
            or name of CloudKit's CKError.

            EXAMPLES
              snapsync explain cloud.zoneBusy
              snapsync explain 78
              snapsync explain 14 --language it
            """)

    @Argument(help: "An identifier, an exit status, or a number or name of CKError.")
    var error: String
    @Option(name: .long, help: "The language of the texts for users: en or it.")
    var language = ErrorLanguage.english
    @OptionGroup(title: "Common options") var output: OutputOptions

    func run() async throws {
        try await output.printer.run {
            let entries = ErrorTable.entries(for: SyncError.Code.all.first { String($0.exitStatus).exact == error.exact }.map { "sync.\($0.name)" } ?? error)
            guard !entries.isEmpty else {
                throw SyncError(
                    .nothingThere, at: "errors", "none has the number or name \(error.debugDescription)",
                    hint: "give an identifier such as cloud.zoneBusy; docs/errors.md lists them")
            }
            let report = ExplainReport(errors: entries.map { ExplainReport.Row($0, in: language) })
            try output.printer.print(report, report.errors.flatMap(\.lines))
        }
    }
}

extension ErrorLanguage: ExpressibleByArgument {}

/// The output of `explain --json`.
private struct ExplainReport: Encodable {
    struct Row: Encodable {
        let identifier: String
        let number: Int?
        let name: String?
        /// Of the rows about what a command ends with.
        let exitCode: Int32?
        let meaning: String
        let retry: String
        let title: String
        let message: String
        let nextStep: String

        init(_ entry: ErrorEntry, in language: ErrorLanguage) {
            let text = entry.text(in: language)
            (identifier, number, name, meaning, retry) = (entry.identifier, entry.number, entry.name, entry.meaning, entry.retry.rawValue)
            (title, message, nextStep) = (text.title, text.message, text.nextStep)
            exitCode = SyncError.Code.all.first { "sync.\($0.name)" == entry.identifier }?.exitStatus
        }

        var lines: [String] {
            [
                identifier + (exitCode.map { ", exit code \($0)" } ?? "") + (number.map { ", CKError \($0)" } ?? "") + (name.map { " \($0)" } ?? ""),
                "  meaning: \(meaning)", "  try again: \(retry)",
                "  title: \(title)", "  message: \(message)", "  next step: \(nextStep)",
            ]
        }
    }

    let errors: [Row]
}
