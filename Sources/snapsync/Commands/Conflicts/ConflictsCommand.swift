import ArgumentParser
import SnapshotSync

/// `snapsync conflicts`: lists and handles edits that lost conflicts.
struct ConflictsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts",
        abstract: "List edits that lost and rows that are held, and restore them.",
        discussion: """
            When two devices change one column of a row, the later change wins everywhere. What loses is kept in the database for \
            90 days, up to 16 MiB; sync, import, watch and status say how many edits are new. A new row that does not fit beside the \
            rows of others is held: in no table, until it fits or you edit or drop it.

            EXAMPLES
              snapsync conflicts --db phone.db
              snapsync conflicts show 3 --db phone.db
              snapsync conflicts take 3 --db phone.db
              snapsync conflicts clear --db phone.db
              snapsync conflicts edit customers 9 email=ann@example.org --db shop.db
              snapsync conflicts drop customers 9 --db shop.db
            """,
        subcommands: [
            ConflictsListCommand.self, ConflictsShowCommand.self, ConflictsTakeCommand.self, ConflictsClearCommand.self, ConflictsEditCommand.self,
            ConflictsDropCommand.self,
        ],
        defaultSubcommand: ConflictsListCommand.self)
}

/// The argument that names an entry of the conflict journal.
struct ConflictNumber: ParsableArguments {
    @Argument(help: "The number, as conflicts lists it.", completion: Completions.conflicts)
    var id: Int64
}
