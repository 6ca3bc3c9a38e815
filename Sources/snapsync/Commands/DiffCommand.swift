import ArgumentParser
import CommandSupport
import SnapshotSync
import StrictText

/// `snapsync diff`: shows the differences between two versions.
struct DiffCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Show which rows differ between two versions, or between a version and this database.",
        discussion: """
            Compare two sides. Each is a version's number, or local for the rows of this database. Blocks that both sides share are not \
            read, and memory does not grow with the dataset.

            EXAMPLES
              snapsync diff phone.db 11 12
              snapsync diff phone.db 12 local --dataset notifications --values
              snapsync diff /mnt/share/app 11 12 --json
            """)

    @OptionGroup var look: LookOptions
    @Argument(help: "The first side: a version, or local for the rows of this database.")
    var first: Side
    @Argument(help: "The second side: a version, or local.")
    var second: Side
    @Option(name: .long, help: ArgumentHelp("Compare only this dataset. Default: all.", valueName: "name"))
    var dataset: String?
    @Flag(name: .long, help: "Also print the values that differ.")
    var values = false
    @OptionGroup(title: "Common options") var output: OutputOptions

    struct Side: ExpressibleByArgument {
        let side: DiffSide

        init?(argument: String) {
            if argument == "local" {
                side = .local
            } else {
                guard let number = Int(argument), number >= 1 else { return nil }
                side = .version(number)
            }
        }
    }

    func run() async throws {
        try await output.printer.work("diff") { _ in
            let report = try await look.inspector().diff(first.side, second.side, dataset: dataset, hasValues: values) { one in
                try output.printer.print(one, lines(one))
            }
            try output.printer.print(report, lines(report))
        }
    }

    private func lines(_ one: EntityDifference) -> [String] {
        let columns = one.columns.isEmpty ? "" : ": \(one.columns.joined(separator: ", "))"
        return ["\(one.change.rawValue) \(one.dataset) \(one.key.description.debugDescription)\(columns)"]
            + (one.values ?? []).map { $0.line(one.change) }
    }

    private func lines(_ report: DiffReport) -> [String] {
        report.datasets.map {
            "\($0.dataset): \(Format.count($0.added)) added, \(Format.count($0.changed)) changed, \(Format.count($0.removed)) removed, \(Format.count($0.unchanged)) unchanged"
        }
    }
}

extension EntityDifference.Column {
    /// The values for people.
    func line(_ kind: EntityDifference.Kind) -> String {
        switch kind {
        case .added: "  \(name): \(after)"
        case .removed: "  \(name): \(before)"
        case .changed: "  \(name): \(before) -> \(after)"
        }
    }
}
