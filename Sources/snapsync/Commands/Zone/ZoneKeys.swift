import ArgumentParser
import CommandSupport
import SnapshotSync

/// `snapsync zone passphrase`: protects this device's key file with a passphrase.
struct ZonePassphraseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passphrase",
        abstract: "Lock this device's key file with a passphrase, or change or remove the passphrase.",
        discussion: """
            Enter the new passphrase twice at the terminal, or pass --new-file. It needs at least 8 bytes. A locked file is opened with \
            the passphrase in SNAPSYNC_PASSPHRASE_FILE, or one that you enter. Keys and shared folder do not change, and earlier copies of \
            the file keep their passphrase. The zone must be signed or encrypted.

            EXAMPLES
              snapsync zone passphrase desk.db
              snapsync zone passphrase desk.db --new-file ~/new-passphrase
              snapsync zone passphrase desk.db --remove
            """)

    @OptionGroup var options: EngineArguments
    @Option(
        name: .long, help: ArgumentHelp("Read the new passphrase from this file (mode 600, one line). Default: the terminal.", valueName: "file"),
        completion: .file())
    var newFile: String?
    @Flag(name: .long, help: "Remove the passphrase.")
    var remove = false

    func validate() throws {
        guard !remove || newFile == nil else { throw ValidationError("Choose one of --remove and --new-file.") }
    }

    func run() async throws {
        try await options.done { engine, _ in
            let report = try await engine.members.setPassphrase(isLocked: !remove, from: newFile)
            let outcome = report.isLocked ? "are locked with the new passphrase" : "have no passphrase now"
            return (report, ["the keys of \(report.device) in \(report.keyFile) \(outcome)"])
        }
    }
}

/// `snapsync zone rotate-keys`: makes new keys for everything that is published from now on.
struct ZoneRotateKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate-keys",
        abstract: "Rotate the keys of an encrypted zone: later versions are encrypted with new keys.",
        discussion: """
            Encrypt later versions with new keys, which every member gets in a version of its own. Earlier versions keep their keys. Run \
            this on a member that publishes in an encrypted zone. zone revoke rotates the keys too.

            To encrypt everything with the new keys, pass --reseal, then remove the older versions with prune --keep-last 1. If --reseal \
            fails after the rotation, run export --full.

            EXAMPLES
              snapsync zone rotate-keys desk.db
              snapsync zone rotate-keys desk.db --new-recovery-code
              snapsync zone rotate-keys desk.db --reseal
            """)

    @OptionGroup var options: EngineArguments
    @Flag(
        name: .long,
        help: """
            Make a new recovery code and print it once. The old code cannot open later versions. Default: keep the code.
            """)
    var newRecoveryCode = false
    @Flag(
        name: .long,
        help: """
            Then publish every dataset whole, so that all blocks of that version have the new keys. Default: unchanged blocks keep \
            their keys.
            """)
    var reseal = false

    func run() async throws {
        try await options.run { engine, _ in
            var report = try await engine.members.rotateKeys(makesRecoveryCode: newRecoveryCode)
            let resealing: Result<Int?, any Error>
            do { resealing = .success(reseal ? try await engine.export(isFull: true).version : nil) } catch { resealing = .failure(error) }
            report.resealed = try? resealing.get()
            // Print the report even if resealing failed: the keys have changed, and a recovery code is shown only once.
            try options.printer.done(
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
            "  write it down and keep it apart: whoever has it and the location can read everything; if every device is lost, only it can (snapsync join --recover)",
        ]
    }
}
