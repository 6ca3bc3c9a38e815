import ArgumentParser
import SnapshotSync

/// `snapsync key`: manages the keys of a sealed zone and this device's key file.
struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Change the keys of a sealed zone, or the passphrase of this device's key file.",
        discussion: """
            EXAMPLES
              snapsync key rotate --db desk.db
              snapsync key rotate --new-recovery-code --db desk.db
              snapsync key passphrase --db desk.db
            """,
        subcommands: [KeyRotateCommand.self, KeyPassphraseCommand.self])
}

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

/// `snapsync key rotate`: makes new keys for everything that is published from now on.
struct KeyRotateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Rotate the keys of a sealed zone: later versions are encrypted with new keys.",
        discussion: """
            Begins a new epoch of a sealed zone (docs/security.md): what is published from then on is encrypted with new keys, which every \
            member gets with a version of its own. What was published before keeps its keys. Run it on a member that publishes (78). A \
            zone that is not sealed ends with 78. member remove does the same by itself. If --reseal fails after the keys were changed, \
            the command says both, and ends with the code of that failure; export --full does the rest. With prune --keep-last 1 after \
            --reseal the older versions are removed.

            EXAMPLES
              snapsync key rotate --db desk.db
              snapsync key rotate --new-recovery-code --db desk.db
              snapsync key rotate --reseal --db desk.db && snapsync prune --keep-last 1 --db desk.db
            """)

    @Flag(name: .long, help: "Make a new recovery code and print it once; the old one opens no later version. Default: the one that there is.")
    var newRecoveryCode = false
    @Flag(
        name: .long,
        help: """
            Then publish every dataset whole, as export --full does: no block of that version has earlier keys. Default: a later version copies \
            blocks that did not change, with the keys that they have.
            """)
    var reseal = false
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let engine = try database.prepare(output)
        try await output.printer.run {
            var report = try await engine.rotateKeys(makesRecoveryCode: newRecoveryCode)
            let resealing: Result<Int?, any Error>
            do { resealing = .success(reseal ? try await engine.export(isFull: true).version : nil) } catch { resealing = .failure(error) }
            report.resealed = try? resealing.get()
            // Print the report even if resealing failed: the keys have changed, and a recovery code is shown only once.
            try output.printer.done(
                report, isIrreplaceable: report.recoveryCode != nil,
                ["zone \(report.zone) has the keys of epoch \(report.epoch), from version \(report.version) on"]
                    + (report.resealed.map { ["  version \($0) has every dataset whole, with these keys; older versions stay until they are pruned"] } ?? [])
                    + (report.recoveryCode.map { RecoveryWords.lines($0) } ?? []))
            _ = try resealing.get()
        }
    }
}

/// Formats a recovery code.
enum RecoveryWords {
    static func lines(_ words: String) -> [String] {
        [
            "  the recovery code, shown this once and stored nowhere: \(words)",
            "  write it down and keep it apart: whoever has it and the cloud can read everything; if every device is lost, only it can (snapsync init --recover)",
        ]
    }
}
