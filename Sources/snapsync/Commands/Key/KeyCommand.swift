import ArgumentParser

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
