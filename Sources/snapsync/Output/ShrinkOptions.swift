import ArgumentParser
import SnapshotSync

/// The option for datasets that may lose more than half of their entities.
struct ShrinkOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Let these datasets lose more than half of their entities, and record the approval in the commit: names with commas between them, or all; may \
            be given several times.
            """, valueName: "a,b|all"),
        completion: Completions.datasets)
    var allowShrink: [String] = []

    var approval: ShrinkApproval {
        let chosen = TableNames(allowShrink)
        return chosen.word == "all" ? .all : .datasets(chosen.names)
    }
}
