import ArgumentParser
import CommandSupport
import SnapshotSync
import StrictText

/// `snapsync prune`: removes old versions.
struct PruneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prune",
        abstract: "Remove old versions, and files that killed runs left in the location.",
        discussion: """
            The newest version and pinned versions are always kept, and so are versions less than a day old. An asset is removed a day \
            after the last version that needs it, and an answered message a day after this device recorded the answer. Only publishers can \
            prune. If no version can be removed, prune prints the reason.

            To prune after publishing, at most once a day, store a rule: config set DB keep 30d. If that fails, the version is still \
            published, and a warning gives the reason.

            If a pinned version cannot be read, prune warns, and keeps the files that it may need until you unpin it. See \
            docs/versions.md.

            EXAMPLES
              snapsync prune phone.db --keep-last 10 --keep-within 7d -n
              snapsync prune phone.db --keep-last 10 --keep-within 7d
              snapsync prune watch.db --copies --keep-last 1
            """)

    @OptionGroup var options: EngineArguments
    @Option(name: .long, help: ArgumentHelp("Keep the last N states of the data. With --copies, 0 removes all copies.", valueName: "n"))
    var keepLast: Int?
    @Option(name: .long, help: ArgumentHelp("Keep versions that are not older than this: 12h, 7d, 4w.", valueName: "age"))
    var keepWithin: TimeSpan?
    @OptionGroup var trial: DryRunOption
    @Flag(
        name: .long,
        help: """
            With -n: list every file. Default: the number of files in each folder. JSON output always lists every file.
            """)
    var all = false
    @Flag(name: .long, help: "Instead, remove old copies of this database's data that export and import --replace, restore and undo saved beside it.")
    var copies = false

    func validate() throws {
        guard keepLast != nil || keepWithin != nil else { throw ValidationError("Pass --keep-last N, --keep-within AGE, or both.") }
        guard keepLast.map({ $0 >= (copies ? 0 : 1) }) ?? true else { throw ValidationError("--keep-last must be at least 1, or 0 with --copies.") }
    }

    func run() async throws {
        try await options.run("prune") { engine, _ in
            let policy = RetentionPolicy(keepLast: keepLast, keepWithin: keepWithin?.duration)
            let versions = engine.versions
            let report = copies ? try await versions.pruneCopies(policy, dryRun: trial.dryRun) : try await versions.prune(policy, dryRun: trial.dryRun)
            try options.printer.done(report, isIrreplaceable: trial.dryRun, lines(report))
        }
    }

    /// The number of files in each folder.
    private func folders(_ files: [String]) -> [String] {
        let counts = Dictionary(grouping: files) { $0.exact.split(separator: "/").dropLast().joined(separator: "/") }.mapValues(\.count)
        return counts.sorted { $0.key < $1.key }.map { "  \($0.key): \(Format.count($0.value, "file"))" } + (counts.isEmpty ? [] : ["  (--all names them)"])
    }

    private func lines(_ report: PruneReport) -> [String] {
        let (one, many) = copies ? ("copy", "copies") : ("version", "versions")
        let verb = report.dryRun ? "would remove" : "removed"
        var lines: [String] = []
        if !report.removedVersions.isEmpty || !report.removedFiles.isEmpty {
            let numbers = report.removedVersions
            let range = numbers.isEmpty ? "no \(one)" : numbers.count == 1 ? "\(one) \(numbers[0])" : "\(many) \(numbers[0]) to \(numbers[numbers.count - 1])"
            lines.append(
                "\(verb) \(range), \(Format.count(report.removedFiles.count, "file")), \(Format.bytes(report.bytesFreed))"
            )
        }
        if report.dryRun { lines += all ? report.removedFiles.map { "  \($0)" } : folders(report.removedFiles) }
        if lines.isEmpty { lines.append("nothing to remove") }
        if let reason = report.reason { lines.append("  no version goes: \(reason)") }
        if let published = report.publishedVersion { lines.append("  published version \(published), which changes no data, so that older ones can go") }
        if let oldest = report.oldestKept {
            let pins = report.pinnedVersions.isEmpty ? "" : ", and the pinned \(report.pinnedVersions.map(String.init).joined(separator: ", "))"
            lines.append("  kept from \(one) \(oldest) on\(pins)")
        }
        if report.waitingFiles > 0 {
            lines.append(
                "  \(Format.count(report.waitingFiles, "file")), \(Format.bytes(report.waitingBytes)), can go when the grace period of a day is over"
            )
        }
        lines += report.problems.map { "  warning: \($0)" }
        return lines
    }
}
