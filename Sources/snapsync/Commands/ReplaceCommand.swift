import ArgumentParser
import Foundation
import SnapshotSync
import StrictText

/// `snapsync replace`: replaces one side's data with the other's, regardless of when it was changed.
struct ReplaceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replace",
        abstract: "Replace the shared data by this device's (cloud), or this device's by the shared data (local).",
        discussion: """
            snapsync replace cloud publishes this device's data as the newest version, even if the zone has newer or more data, and pins \
            the version that it replaces. snapsync replace local imports the newest version and drops the changes of this device. The \
            dropped data are saved, and messages about them that are not decided yet are withdrawn. undo reverses both. The command asks \
            for confirmation. Without a terminal, pass --yes.

            EXAMPLES
              snapsync replace cloud --db phone.db
              snapsync replace local --yes --db watch.db
            """)

    @Argument(help: "The data to replace: cloud or local.")
    var side: Side
    @Flag(name: .long, help: "Do not ask.")
    var yes = false
    @OptionGroup var options: EngineArguments

    enum Side: String, ExpressibleByArgument, CaseIterable {
        case cloud, local
    }

    func validate() throws {
        guard yes || isatty(STDIN_FILENO) == 1 else {
            throw ValidationError("Standard input is not a terminal. Pass --yes to replace the \(side.rawValue) data.")
        }
    }

    func run() async throws {
        try await options.run("replace") { engine, progress in
            if !yes, try !ProgressLine.pausing(confirm) { return }
            switch side {
            case .cloud:
                let report = try await engine.replaceCloud(progress: progress)
                try options.printer.done(report, lines(report))
            case .local:
                let report = try await engine.replaceLocal(progress: progress)
                try options.printer.done(report, lines(report))
            }
        }
    }

    /// Asks for confirmation on the terminal.
    private func confirm() throws -> Bool {
        try StandardStream.error.write("Replace the \(side.rawValue) data? Type yes: ")
        if readLine() == "yes" { return true }
        try StandardStream.error.write("nothing was changed\n")
        return false
    }

    private func lines(_ report: ReplaceCloudReport) -> [String] {
        guard report.replaced.hasChanged else { return ["the cloud has this device's data already"] + report.exported.lines }
        return ["the data of this device replace version \(report.replaced.versionBefore ?? 0), which is pinned"]
            + report.replaced.datasets.map {
                "  \($0.name): \(Format.count($0.added)) added, \(Format.count($0.changed)) changed, \(Format.count($0.removed)) removed"
            }
            + report.replaced.warnings.map { "  warning: \($0)" } + report.exported.lines
    }

    private func lines(_ report: ReplaceLocalReport) -> [String] {
        let kept = report.keptCopy.map { "copy \($0) beside the database" } ?? report.versionBefore.map { "version \($0)" } ?? "nothing"
        return report.imported.lines + ["  what was here before is \(kept); snapsync undo brings it back"]
    }
}
