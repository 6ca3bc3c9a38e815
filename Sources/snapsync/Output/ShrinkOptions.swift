import ArgumentParser
import SnapshotSync

/// The option for datasets that may lose more than half of their entities.
struct ShrinkOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Let this dataset lose more than half of its entities, and record the approval in the commit; all means every dataset; may be \
            given several times.
            """, valueName: "dataset"),
        completion: Completions.datasets)
    var allowShrink: [String] = []

    var approval: ShrinkApproval { allowShrink.contains("all") ? .all : .datasets(allowShrink) }
}
