import SnapshotSync

/// The simple command lines that schedulers run: `sync`, `export` or `import` with `--db`, and possibly `--quiet` and `--json`.
///
/// This is a fast path. The argument parser inspects all commands by reflection before it reads the first word, which takes as long as a sync
/// with nothing to do. Any other line (an abbreviation, a repeated option, help) is left to the parser, which also reports all errors.
struct FastPathArguments {
    /// The supported commands.
    enum Command: String {
        case sync, export, `import`
    }

    let command: Command
    let database: String
    let isQuiet: Bool
    let isJSON: Bool

    /// Parses the arguments without the program's name; nil if they must be left to the parser.
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

    /// Runs the command.
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
