import ArgumentParser

/// `snapsync key`: the keys of a sealed zone.
struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Changes the keys that the contents of a sealed zone are encrypted with.",
        discussion: """
            EXAMPLES
              snapsync key rotate --db desk.db
              snapsync key rotate --new-recovery-code --db desk.db
            """,
        subcommands: [KeyRotateCommand.self])
}
