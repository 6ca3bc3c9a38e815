import ArgumentParser
import SnapshotSync
import StrictText

/// `snapsync messages`: lists the messages in the mailbox and those that this device sent.
struct MessagesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "messages",
        abstract: "Lists the messages that wait in the zone's mailbox, and what this device told of its own changes.",
        discussion: """
            Lists the messages that wait in the zone's mailbox, the files that were set aside there and why, and the outcome of each \
            change that was made here. How changes travel from a reader to the publisher: docs/messages.md.

            EXAMPLES
              snapsync messages --db watch.db
              snapsync messages --cloud /mnt/share/cloud --json
              snapsync messages --db watch.db --request-full
            """)

    @OptionGroup var look: LookOptions
    @Flag(name: .long, help: "At a reader: ask the publisher to write every dataset whole at its next sync, as export --full does.")
    var requestFull = false
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            At a reader: from now on, let at most this many of its messages wait in the mailbox; the database keeps the others until there is \
            room. Default: 1000.
            """, valueName: "n"))
    var limit: Int?
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard limit.map({ $0 >= 1 }) ?? true else { throw ValidationError("The limit must be at least 1.") }
        guard !requestFull && limit == nil || look.database.file.pathIfAny != nil else {
            throw ValidationError("--request-full and --limit need a database: --db FILE.")
        }
    }

    func run() async throws {
        try await output.printer.run {
            if let limit { try look.database.engine().setMessageLimit(limit) }
            if requestFull { _ = try await look.database.engine().requestFullSync() }
            let report = try await look.inspector().messages()
            try output.printer.print(report, report.lines)
        }
    }
}

extension MessagesReport {
    /// The messages that are waiting, that were set aside, and that were sent.
    var lines: [String] {
        var lines =
            waiting.isEmpty
            ? ["no message waits in the mailbox of \(zone)"] : ["\(Format.count(waiting.count, "message")) in the mailbox of \(zone)"]
        lines += waiting.map { one in
            let outcome = one.outcome.map { ", \($0)" + (one.reason.map { ": \($0)" } ?? "") } ?? ""
            return "  \(one.type)\(one.name)\(one.entityId.map { " \($0)" } ?? "") of \(one.timestamp) from \(one.sender)\(outcome)"
        }
        lines += setAside.map { "  set aside: \($0.file): \($0.reason)" }
        guard !told.isEmpty else { return lines }
        lines.append("told by this device")
        lines += told.map { one in
            // For a built-in dataset, the message type already names the dataset.
            let what = [one.type ?? one.dataset, one.type?.exact.hasPrefix("row") == true ? one.dataset : nil, one.entityId].compactMap(\.self).joined(
                separator: " ")
            return "  \(one.state): \(what)" + (one.timestamp.map { " of \($0)" } ?? "") + (one.reason.map { ": \($0)" } ?? "")
                + (one.isMissing ? ": its file is not in the mailbox as it was sent; the next sync puts it back" : "")
        }
        return lines
    }
}

extension MessagesReport.Waiting {
    /// The dataset, unless the message type already names it.
    fileprivate var name: String { type.exact.hasPrefix("row") ? dataset.map { " \($0)" } ?? "" : "" }
}

extension SendReport {
    /// What was sent and what was not; empty if there is nothing to report.
    var lines: [String] {
        (sent > 0 ? ["sent \(Format.count(sent, "message")) to the publisher"] : [])
            + (putBack > 0
                ? [
                    "put \(Format.count(putBack, "unanswered message")) back that \(Format.word(putBack, "was", "were")) missing from the mailbox or damaged there"
                ] : [])
            + (unfit > 0
                ? [
                    "  warning: \(Format.count(unfit, "edit stays", "edits stay")) on this device, because \(Format.word(unfit, "its row", "their rows")) cannot travel; see: snapsync messages"
                ] : [])
            + (held > 0 ? ["  warning: \(held) more are kept here: the limit of waiting messages is reached, and the next sync tries again"] : [])
    }
}
