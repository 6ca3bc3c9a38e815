import ArgumentParser
import CloudStore
import CommandSupport
import SnapshotSync
import StrictText

/// `snapsync pending`: lists the messages in the mailbox and those that this device sent.
struct PendingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pending",
        abstract: "List the edits of readers that wait for the publisher, and those that this device has sent.",
        discussion: """
            List the edits in the zone's mailbox, the files that were set aside there, the edits of this device that are not decided yet, \
            and those that cannot be sent, with the reasons. See docs/readers.md.

            EXAMPLES
              snapsync pending watch.db
              snapsync pending /mnt/share/app --json
            """)

    @OptionGroup var look: LookOptions
    @OptionGroup(title: "Common options") var output: OutputOptions

    func run() async throws {
        try await output.printer.run {
            let report = try await look.inspector().messages()
            try output.printer.print(report, report.lines)
        }
    }
}

extension MessagesReport {
    /// The edits that wait, that were set aside, and that were handed over.
    var lines: [String] {
        let mailbox = "in the mailbox of \(ZoneID(zone).place)"
        var lines = [waiting.isEmpty ? "no edit waits \(mailbox)" : "\(Format.count(waiting.count, "edit")) \(mailbox)"]
        lines += waiting.map { "  \($0.words) from \($0.device)\($0.isDecided ? ", decided" : "")" }
        lines += setAside.map { "  set aside: \($0.file): \($0.reason)" }
        if !sent.isEmpty {
            lines.append("handed over by this device, not decided yet")
            lines += sent.map { "  \($0.words)" }
        }
        if isMissing { lines.append("  the message with these edits is not in the mailbox as it was sent; the next sync puts it back") }
        return lines
            + kept.map { "  stays here: \([$0.operation, $0.dataset, $0.entityId].compactMap(\.self).joined(separator: " ")): \($0.reason)" }
    }
}

extension MessagesReport.Edit {
    fileprivate var words: String {
        let what = [operation, dataset, entityId].compactMap(\.self).joined(separator: " ")
        return what + (columns.map { " (\($0.joined(separator: ", ")))" } ?? "") + (timestamp.map { " of \($0)" } ?? "")
    }
}

extension SendReport {
    /// What was sent; empty if there is nothing to report.
    var lines: [String] {
        (sent > 0 ? ["sent \(Format.count(sent, "edit")) to the publisher"] : [])
            + (putBack > 0 ? ["put the message with undecided edits back: it was missing from the mailbox, or damaged there"] : [])
    }
}
