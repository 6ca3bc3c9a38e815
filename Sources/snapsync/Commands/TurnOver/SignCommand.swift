import ArgumentParser
import SnapshotSync

/// `snapsync sign`: moves the data of an existing zone to a signed zone.
struct SignCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign",
        abstract: "Sign an existing zone: from then on, keys decide who may publish and send edits.",
        discussion: """
            Run it on a device that publishes (78). The data go on in a new, signed zone (docs/security.md), whose first version has every
            dataset whole; this device makes it. The last version of the present zone says where it goes on, so nobody publishes there
            any more. Every other device follows with its next sync: it takes what was changed there along, and asks to be a member:
            snapsync member approve NAME. Earlier programs stop there and ask for an update (78).

            What was published before lies there unsigned, until --prune-old removes it, now or later: versions, pins and messages of the
            zone that is left. If the command is interrupted, run it again.

            EXAMPLES
              snapsync sign --dry-run --db desk.db
              snapsync sign --db desk.db
            """)

    @OptionGroup var turning: TurnOverOptions

    func run() async throws { try await turning.run(TurnOverRequest(isSealed: false)) }
}
