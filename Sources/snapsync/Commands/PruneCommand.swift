import ArgumentParser
import SnapshotSync

/// `snapsync prune`: removes old versions.
struct PruneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prune",
        abstract: "Removes old versions, and what killed runs left in the cloud.",
        discussion: """
            The newest version and the pinned ones stay, and what --keep-last or --keep-within asks for. No commit younger than a
            day goes, by the directory's clock and by this device's; an asset goes a day after nothing needs it any longer.
            A run that is killed is ended by the next one. Publishers only.

            EXAMPLES
              snapsync prune --keep-last 10 --keep-within 7d --dry-run --db phone.db
              snapsync prune --keep-last 10 --keep-within 7d --db phone.db
              snapsync prune --local --keep-last 1 --db watch.db
            """)

    @OptionGroup var database: DatabaseOptions
    @Option(name: .long, help: ArgumentHelp("Keep the last so many states of the data; with --local 0 removes all copies.", valueName: "n"))
    var keepLast: Int?
    @Option(name: .long, help: ArgumentHelp("Keep versions that are not older: 12h, 7d, 4w.", valueName: "age"))
    var keepWithin: TimeSpan?
    @Flag(name: .long, help: "Only say what would go.")
    var dryRun = false
    @Flag(name: .long, help: "Remove old copies of this database's own data beside it instead, which replace, restore and undo have kept.")
    var local = false
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard keepLast != nil || keepWithin != nil else { throw ValidationError("Say what to keep: --keep-last N, --keep-within AGE, or both.") }
        guard keepLast.map({ $0 >= (local ? 0 : 1) }) ?? true else { throw ValidationError("--keep-last takes a number from 1; with --local from 0.") }
    }

    func run() async throws {
        let engine = try database.prepare(output)
        try await output.printer.run {
            let policy = RetentionPolicy(keepLast: keepLast, keepWithin: keepWithin?.duration)
            let report = local ? try await engine.pruneCopies(policy, dryRun: dryRun) : try await engine.prune(policy, dryRun: dryRun)
            try output.printer.print(report, lines(report))
        }
    }

    private func lines(_ report: PruneReport) -> [String] {
        let (one, many) = local ? ("copy", "copies") : ("version", "versions")
        let verb = report.dryRun ? "would remove" : "removed"
        var lines: [String] = []
        if !report.removedVersions.isEmpty || !report.removedFiles.isEmpty {
            let numbers = report.removedVersions
            let range = numbers.isEmpty ? "no \(one)" : numbers.count == 1 ? "\(one) \(numbers[0])" : "\(many) \(numbers[0]) to \(numbers[numbers.count - 1])"
            lines.append("\(verb) \(range), \(Format.count(report.removedFiles.count)) file\(report.removedFiles.count == 1 ? "" : "s"), \(Format.bytes(report.bytesFreed))")
        }
        if report.dryRun { lines += report.removedFiles.map { "  \($0)" } }
        if report.removedMessages > 0 {
            lines.append("\(verb) \(Format.count(report.removedMessages)) answered message\(report.removedMessages == 1 ? "" : "s") that nobody took out of the mailbox")
        }
        if lines.isEmpty { lines.append("nothing to remove") }
        if let published = report.publishedVersion { lines.append("  published version \(published), which changes no data, so that older ones can go") }
        if let oldest = report.oldestKept {
            let pins = report.pinnedVersions.isEmpty ? "" : ", and the pinned \(report.pinnedVersions.map(String.init).joined(separator: ", "))"
            lines.append("  kept from \(one) \(oldest) on\(pins)")
        }
        if report.waitingFiles > 0 {
            lines.append("  \(Format.count(report.waitingFiles)) file\(report.waitingFiles == 1 ? "" : "s"), \(Format.bytes(report.waitingBytes)), can go when the grace period of a day is over")
        }
        lines += report.problems.map { "  warning: \($0)" }
        return lines
    }
}
