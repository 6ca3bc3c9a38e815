import ArgumentParser

/// `snapsync licence`: signed files that state who may sync.
struct LicenceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "licence",
        abstract: "Create, sign and check licences: signed files that state who may sync, and until when.",
        discussion: """
            A vendor makes a key once and signs licences with it. An application, or init --entitlement-key, has the public key and takes no other.

            EXAMPLES
              snapsync licence key vendor.key
              snapsync licence sign --key vendor.key --product org.example.board --holder "Ann Example" --until 2027-01-01T00:00:00Z --out ann.licence
              snapsync licence check ann.licence --public-key "$PUBLIC_KEY"
            """,
        subcommands: [LicenceKeyCommand.self, LicenceSignCommand.self, LicenceCheckCommand.self])
}
