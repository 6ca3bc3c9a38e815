import ArgumentParser
import SnapshotSync

/// `snapsync key passphrase`: protects this device's key file with a passphrase.
struct KeyPassphraseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passphrase",
        abstract: "Lock this device's key file with a passphrase, or change or remove the passphrase.",
        discussion: """
            It asks for the new one at the terminal, twice. A file that has a passphrase already is opened with that of \
            SNAPSYNC_PASSPHRASE_FILE, or one that is asked for. The keys and the cloud stay as they are. A wrong passphrase, one of less \
            than 8 bytes, a file that others may read, and a zone that is not signed end with 78. Copies of the file that were made before \
            stay as they are.

            EXAMPLES
              snapsync key passphrase --db desk.db
              snapsync key passphrase --new-file ~/new-passphrase --db desk.db
              snapsync key passphrase --remove --db desk.db
            """)

    @Option(
        name: .long, help: ArgumentHelp("A file (mode 600) that has the new passphrase in one line. Default: the terminal.", valueName: "file"),
        completion: .file())
    var newFile: String?
    @Flag(name: .long, help: "Leave the file without a passphrase.")
    var remove = false
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard !remove || newFile == nil else { throw ValidationError("--remove leaves no passphrase, so there is no --new-file.") }
    }

    func run() async throws {
        let engine = try database.prepare(output)
        try await output.printer.run {
            let report = try await engine.setPassphrase(isLocked: !remove, from: newFile)
            let outcome = report.isLocked ? "are locked with the new passphrase" : "have no passphrase now"
            try output.printer.done(report, ["the keys of \(report.device) in \(report.keyFile) \(outcome)"])
        }
    }
}
