import ArgumentParser
import SnapshotSync

/// The option for the tables whose rows readers may edit, for `init` and `describe --update`.
struct ReaderEditsOption: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            The tables whose rows readers may add, change and delete: all, none, or names as in --tables. A reader sends its edits as \
            messages (docs/readers.md). With init it needs --tables; a dataset file says it itself. With describe it needs --update. Default: \
            readers only read; with describe --update, as it was.
            """, valueName: "all|none|a,b"))
    var readerEdits: String?

    func validate() throws {
        guard readerEdits?.isEmpty != true else { throw ValidationError("--reader-edits takes all, none, or the names of tables.") }
    }

    /// The chosen value; nil if the option is not given.
    var choice: ReaderEdits? {
        guard let readerEdits else { return nil }
        let chosen = TableNames([readerEdits])
        return switch chosen.word {
        case "all": .all
        case "none": ReaderEdits.none
        default: .tables(chosen.names)
        }
    }
}
