import SnapshotSync

/// A command line of the kind that schedulers run all day: `sync`, `export` or `import`, with `--db`, `--quiet` and `--json` at most.
///
/// The parser of all commands looks at every one of them with reflection before it reads the first word, which takes as long as a sync
/// that has nothing to do. These few lines need none of it. Whatever else is on a line, an abbreviation, a repetition, help, is the
/// parser's, and so is every word about it.
struct FastPathArguments {
    /// The commands that such a line may name.
    enum Command: String {
        case sync, export, `import`
    }

    let command: Command
    let database: String
    let isQuiet: Bool
    let isJSON: Bool

    /// Reads a line without the program's name; nil if it is the parser's to read.
    init?(_ words: some Sequence<String>) {
        var words = words.makeIterator()
        guard let command = words.next().flatMap(Command.init(rawValue:)) else { return nil }
        var database: String?
        var flags: [String] = []
        while let word = words.next() {
            switch word {
            case "--db":
                guard database == nil, let value = words.next(), !value.isEmpty, !value.hasPrefix("-") else { return nil }
                database = value
            case "--json", "--quiet":
                guard !flags.contains(word), word == "--json" || command == .sync else { return nil }
                flags.append(word)
            default: return nil
            }
        }
        guard let database = database ?? DatabaseOptions.environment("SNAPSYNC_DB") else { return nil }
        self.command = command
        self.database = database
        isQuiet = flags.contains("--quiet")
        isJSON = flags.contains("--json")
    }

    /// Does what the command does.
    func run() async throws {
        let printer = Printer(isJSON: isJSON, isQuiet: isQuiet)
        let engine = try printer.open(database, cloud: DatabaseOptions.environment("SNAPSYNC_CLOUD"))
        switch command {
        case .sync: try await SyncCommand.run(engine, isQuiet: isQuiet, printer: printer)
        case .export: try await ExportCommand.run(engine, printer: printer)
        case .import: try await ImportCommand.run(engine, printer: printer)
        }
    }
}
