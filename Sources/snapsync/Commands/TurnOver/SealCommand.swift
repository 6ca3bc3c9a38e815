import ArgumentParser
import SnapshotSync

/// `snapsync seal`: moves the data of an existing zone to a sealed zone.
struct SealCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "seal",
        abstract: "Encrypt an existing zone: later versions can be read by its members only.",
        discussion: """
            Run it on a device that publishes (78). The data go on in a new, sealed zone (docs/security.md), whose first version has every
            dataset whole; this device makes it. The last version of the present zone says where it goes on, so nobody publishes there
            any more. Every other device follows with its next sync: it takes what was changed there along, asks to be a member, and
            waits (75) until it is approved: snapsync member approve NAME. The members of a signed zone stay members. Earlier programs
            stop there and ask for an update (78).

            What was published before stays readable for whoever can read the store, until --prune-old removes it, now or later:
            versions, pins and messages of the zone that is left. If the command is interrupted, run it again. It prints a recovery code once.

            EXAMPLES
              snapsync seal --dry-run --db desk.db
              snapsync seal --db desk.db
              snapsync seal --prune-old --db desk.db
            """)

    @Flag(name: .long, help: "Pad what is encrypted, so that the store learns sizes roughly; at most 12 % more bytes.")
    var padded = false
    @Flag(
        name: .long,
        help:
            "Give the members the keys by X-Wing (ML-KEM-768 and X25519), so that a quantum computer alone does not read them. Members of a signed zone have to be approved anew."
    )
    var postQuantum = false
    @OptionGroup var turning: TurnOverOptions

    func run() async throws {
        var request = TurnOverRequest(isSealed: true)
        request.isPadded = padded
        request.isPostQuantum = postQuantum
        try await turning.run(request)
    }
}
