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
            With --local, rows that refer to rows that are not there are named, too: as a warning where an application left them so.

            EXAMPLES
              snapsync verify --db phone.db --local
              snapsync verify --all --cloud /mnt/share/cloud
            """)

    @OptionGroup var look: LookOptions
    @Flag(name: .long, help: "Check every kept version, not only the newest.")
    var all = false
    @Flag(name: .long, help: "Also compare this database's tables, row by row, with the version that was applied.")
    var local = false
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let progress = ProgressLine.handler(isJSON: output.json)
        try await output.printer.run {
            defer { progress?.line.clear() }
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
