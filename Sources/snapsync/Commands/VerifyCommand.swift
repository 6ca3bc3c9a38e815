import ArgumentParser
import SnapshotSync

/// `snapsync verify`: reads versions from the commit to the last byte.
struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Checks the newest version, or all, from the commit to the last byte.",
        discussion: """
            Chain of commits, sizes, hashes, JSON, order and counts. Ends with 65 if anything is wrong, after naming all of it,
            and with 75 if a file is still arriving.
            With --restore a version is written into a temporary database, checked there by SQLite, compared with the version row by row, and
            removed again: what a restore would give. It needs room for the version in TMPDIR. The database notes when that was last done.
            With --local, rows that refer to rows that are not there are named, too: as a warning where an application left them so.

            EXAMPLES
              snapsync verify --db phone.db --local
              snapsync verify --all --cloud /mnt/share/cloud
              snapsync verify --restore --version 12 --db phone.db
            """)

    @OptionGroup var look: LookOptions
    @Flag(name: .long, help: "Check every kept version, not only the newest.")
    var all = false
    @Flag(name: .long, help: "Also compare this database's tables, row by row, with the version that was applied.")
    var local = false
    @Flag(name: .long, help: "Restore the newest version, or --version, into a temporary database, and compare.")
    var restore = false
    @Option(name: .long, help: ArgumentHelp("With --restore: the version, kept or pinned.", valueName: "n"), completion: Completions.versions)
    var version: Int?
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard !restore || (!all && !local) else { throw ValidationError("--restore looks at one version: without --all and --local.") }
        guard version == nil || restore else { throw ValidationError("--version belongs to --restore.") }
        guard version.map({ $0 >= 1 }) ?? true else { throw ValidationError("Versions are numbered from 1.") }
    }

    func run() async throws {
        let progress = ProgressLine.handler(isJSON: output.json)
        try await output.printer.run {
            defer { progress?.line.clear() }
            guard !restore else {
                let report = try await look.inspector().checkRestore(version: version, progress: progress?.handler)
                progress?.line.clear()
                try output.printer.print(report, report.lines)
                guard report.problems.isEmpty else { throw ExitCode(65) }
                return
            }
            let report = try await look.inspector().verify(all: all, local: local, progress: progress?.handler)
            progress?.line.clear()
            try output.printer.print(report, lines(report))
            guard report.problems.isEmpty else { throw ExitCode(65) }
            guard report.arriving.isEmpty else { throw ExitCode(75) }
        }
    }

    private func lines(_ report: VerifyReport) -> [String] {
        report.sound.map {
            "sound: \($0.name), \($0.isOpened ? "\(Format.entities($0.recordCount)) in \($0.blocks == 0 ? "a change asset" : $0.blocks == 1 ? "1 block" : "\($0.blocks) blocks")" : "sealed"), \(Format.bytes($0.size)) in \($0.file)"
        }
            + (report.localMatches == true ? ["sound: the local tables are the applied version"] : [])
            + report.forks.filter(\.isHealed).map(\.sentence)
            + report.warnings.map { "warning: \($0)" }
            + report.problems.map { "damaged: \($0)" }
            + report.arriving.map { "still arriving: \($0)" }
            + [
                report.problems.isEmpty
                    ? (report.arriving.isEmpty ? "all is well" : "not all is there yet; nothing that is there is damaged")
                    : "\(report.problems.count) problem\(report.problems.count == 1 ? "" : "s")"
            ]
    }
}

extension RestoreCheckReport {
    /// What was restored, and what is wrong with it.
    fileprivate var lines: [String] {
        ["version \(version) was restored into a temporary database, compared and removed"]
            + datasets.filter { $0.restoredCount == $0.recordCount && $0.differences == 0 }.map {
                "  \($0.name): \(Format.entities($0.recordCount)), all as in the version"
            }
            + warnings.map { "warning: \($0)" } + problems.map { "problem: \($0)" }
            + [problems.isEmpty ? "all is well" : Format.count(problems.count, "problem")]
    }
}
