import ArgumentParser
import CloudStore
import SnapshotSync

/// `snapsync member approve`: makes a device that asks for it a member.
struct MemberApproveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "approve",
        abstract: "Accept a device that requests access to the signed zone.",
        discussion: """
            It shows the words of the device's keys and asks on a terminal whether they are those that init printed on the device; without \
            a terminal and --yes it refuses (78). Run it on a member that publishes (78). A device that has not asked ends with 66. The \
            change is a version of its own, which readers take as any other. In a sealed zone (docs/security.md) it gives the device the \
            keys; run the same init there again. Compare the words: only then is it that device, and not one whose request somebody else \
            has put into the cloud.

            EXAMPLES
              snapsync member approve phone --db desk.db
              snapsync member approve kiosk --role observer --yes --db desk.db
            """)

    @Argument(help: "The device's name, as member list shows it.", completion: Completions.devices)
    var name: String
    @Option(
        name: .long,
        help: """
            What it may do: writer and peer publish, reader sends messages, observer only reads; a zone with one publisher takes no other \
            (78). Default: the role that the device was set up with.
            """)
    var role: MemberRole?
    @Flag(name: .long, help: "The words were compared already: do not ask.")
    var yes = false
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let engine = try database.prepare(output)
        try await output.printer.run {
            let members = try await engine.members()
            let words = try members.compared(name, yes: yes, list: "snapsync member list")
            let report = try await engine.approveMember(name, as: role, fingerprint: words)
            try output.printer.done(
                report,
                ["\(report.device) is a member of zone \(report.zone) from version \(report.version) on, as a \(report.role): \(report.fingerprint)"]
                    + (report.epoch == nil ? [] : ["  it can read the sealed zone now; if it has not been set up yet, run the same snapsync init there again"]))
        }
    }

}

extension MembersReport {
    /// The words of a device that asks to be a member, once a person has compared them.
    ///
    /// - Parameters:
    ///   - yes: whether that was done already.
    ///   - list: the command that shows who asks.
    func compared(_ name: String, yes: Bool, list: String) throws -> KeyFingerprint {
        guard let request = requests.first(where: { $0.device == name }), let words = KeyFingerprint(request.fingerprint) else {
            let isMember = members.contains { $0.device == name }
            throw SyncError(
                isMember ? .refused : .nothingThere, at: "zone \(zone)",
                isMember ? "\(name) is a member already" : "no device asks to be a member as \(name)", hint: "\(list) shows who is one, and who asks")
        }
        guard try yes || isConfirmed(request) else {
            throw SyncError(.refused, at: "zone \(zone)", "\(name) was not approved", hint: "if the words differ, the request is not that device's")
        }
        return words
    }

    /// Asks on the terminal whether the words are the device's.
    private func isConfirmed(_ request: Request) throws -> Bool {
        guard StandardStream.isInputTerminal else {
            throw SyncError(
                .refused, at: request.device, "standard input is not a terminal, so the words \(request.fingerprint) cannot be compared",
                hint: "compare them with those on the device, then add --yes")
        }
        StandardStream.ask("\(request.device) asks to be a \(request.role). Are these the words on that device?\n  \(request.fingerprint)\n[y/N] ")
        return ["y", "yes"].contains((readLine() ?? "").lowercased())
    }
}
