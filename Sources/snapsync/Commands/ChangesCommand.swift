import ArgumentParser
import CommandSupport
import Platform
import SnapshotSync
import StrictText

/// `snapsync changes`: prints each change of the versions after one.
struct ChangesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "changes",
        abstract: "Print each change of the versions after one, for other programs.",
        discussion: """
            Print a JSON object for each row that a version changed, on a line of its own, in the order of versions, tables and keys. After \
            the changes of a version comes a line with the version and their number, without a table. Store that version, and pass it as \
            --since the next time: then you get each change exactly once. If versions after it were pruned, the command fails with status \
            66: read the tables of the newest version with query, and start there.

            EXAMPLES
              snapsync changes /mnt/share/cloud --since 0 --ndjson
              snapsync changes phone.db --since 41 --follow --ndjson | ./feed
            """)

    @OptionGroup var place: LookOptions
    @Option(name: .long, help: ArgumentHelp("The last version whose changes you have, or 0.", valueName: "n"))
    var since: Int
    @Flag(name: .shortAndLong, help: "Continue with new versions as they come, until SIGTERM or SIGINT.")
    var follow = false
    @Option(name: .long, help: ArgumentHelp("With --follow: how often to check without an event, at least 100ms.", valueName: "time"))
    var poll = TimeSpan(.seconds(30), "30s")
    @Flag(name: .long, help: "Print a JSON object for each change. Default: a line of text.")
    var ndjson = false

    func validate() throws {
        guard since >= 0 else { throw ValidationError("--since must be a version's number, or 0.") }
        guard poll.duration >= .milliseconds(100) else { throw ValidationError("--poll must be at least 100ms.") }
    }

    func run() async throws {
        let printer = Printer(isJSON: ndjson)
        try await printer.run {
            let inspector = try await place.inspector()
            do {
                try await EndSignals.cancel {
                    try await inspector.changes(since: since, following: follow ? poll.duration : nil) { event in
                        try StandardStream.output.write((ndjson ? Printer.json(event) : VisibleText.escape(event.line)) + "\n")
                    }
                }
            } catch is CancellationError {
                // A signal came while a version was read, whose last line is not printed.
            }
        }
    }
}

extension FeedEvent {
    /// The event for people.
    fileprivate var line: String {
        switch self {
        case .change(let one):
            "  \(one.change.rawValue) \(one.table) \(one.key.description.debugDescription)\(one.columns.isEmpty ? "" : ": " + one.columns.joined(separator: ", "))"
        case .version(let one): "version \(one.version)  \(one.timestamp)  by \(one.device): \(Format.count(one.changes, "change"))"
        }
    }
}
