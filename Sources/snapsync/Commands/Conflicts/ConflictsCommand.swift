import ArgumentParser
import SnapshotSync

/// `snapsync conflicts`: lists and handles edits that lost conflicts.
struct ConflictsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts",
        abstract: "Lists edits that lost to edits of other devices, and brings them back.",
        discussion: """
            When two devices change one column of a row, the later change wins everywhere. What loses is kept in the database for \
            90 days, up to 16 MiB; sync, import, watch and status say how many edits are new.

            EXAMPLES
              snapsync conflicts --db phone.db
              snapsync conflicts show 3 --db phone.db
              snapsync conflicts take 3 --db phone.db
              snapsync conflicts clear --db phone.db
            """,
        subcommands: [ConflictsListCommand.self, ConflictsShowCommand.self, ConflictsTakeCommand.self, ConflictsClearCommand.self],
        defaultSubcommand: ConflictsListCommand.self)
}

/// The argument that names an entry of the conflict journal.
struct ConflictNumber: ParsableArguments {
    @Argument(help: "The number, as conflicts lists it.", completion: Completions.conflicts)
    var id: Int64
}
