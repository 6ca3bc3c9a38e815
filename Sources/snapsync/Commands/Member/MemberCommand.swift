public import ArgumentParser
public import CloudStore
import SnapshotSync

/// `snapsync member`: manages who may write to a signed zone.
struct MemberCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "member",
        abstract: "Show and change who may publish and send edits in a signed zone.",
        discussion: """
            A device asks to be a member when it is set up in a signed zone (init). A member that publishes approves it.

            EXAMPLES
              snapsync member list --db desk.db
              snapsync member approve phone --db desk.db
              snapsync member role phone observer --db desk.db
              snapsync member remove phone --db desk.db
              snapsync member freshness on --db desk.db
            """,
        subcommands: [
            MemberListCommand.self, MemberApproveCommand.self, MemberRoleCommand.self, MemberRemoveCommand.self, MemberFreshnessCommand.self,
            MemberSettleCommand.self,
        ])
}

extension MemberRole: ExpressibleByArgument {}

/// `snapsync member list`: lists the members of a signed zone and the devices that ask to be members.
struct MemberListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the members of a signed zone, their roles and fingerprints, and the devices that request access.",
        discussion: """
            Lists who may write a signed zone (docs/security.md): each member's role and eight words, who approved it and when, and the \
            devices that ask to be members. The word list is needed. Ends with 78 in a zone that is not signed.

            EXAMPLES
              snapsync member list --db desk.db
              snapsync member list --json --db desk.db | jq -r '.requests[].device'
            """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let engine = try database.prepare(output)
        try await output.printer.run {
            let report = try await engine.members()
            try output.printer.print(report, report.lines(approving: "snapsync member approve NAME"))
        }
    }
}

extension MembersReport {
    /// The creator, the members and the requests, one line each.
    ///
    /// - Parameter command: what lets a device become a member.
    func lines(approving command: String) -> [String] {
        let kind = isSealed ? "sealed" : "signed"
        let head = creator.map { "zone \(zone) is \(kind); its creator is \($0)" } ?? "zone \(zone) is \(kind); \(creatorDevice) has published nothing yet"
        return [head]
            + members.map { member in
                "  \(member.role) \(member.device)\(member.isOwn ? " (this device)" : ""): \(member.fingerprint)"
                    + (member.by == member.device ? "" : ", approved by \(member.by)") + ", \(member.since)"
            }
            + requests.map { request in
                "  \(request.device) asks to be a \(request.role): \(request.fingerprint), \(request.at)"
                    + (request.isNameTaken ? "; a member has that name, with other keys" : "")
            }
            + (requests.contains { !$0.isNameTaken } ? ["  compare the words with those on the device, then: \(command)"] : [])
    }
}

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

/// `snapsync member remove`: ends a device's membership, so that its signatures are refused.
struct MemberRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "End a device's membership of the signed zone.",
        discussion: """
            Ends a device's membership: snapsync member remove NAME. Versions, messages and reports that it signs from then on are \
            refused. What it could read it can still read, as long as it can read the cloud; in a sealed zone (docs/security.md) nothing \
            that is published afterwards. The last member that publishes stays (78).

            EXAMPLE
              snapsync member remove phone --db desk.db
            """)

    @Argument(help: "The member's name, as member list shows it.", completion: Completions.devices)
    var name: String
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let engine = try database.prepare(output)
        try await output.printer.run {
            let report = try await engine.removeMember(name)
            try output.printer.done(
                report,
                [
                    "\(report.device) is no member of zone \(report.zone) any more, from version \(report.version) on",
                    report.epoch.map {
                        "  what is published from now on has new keys, of epoch \($0), which it does not get; what it could read it can still read"
                    } ?? "  what it could read it can still read, as long as it can read the cloud",
                ])
        }
    }
}

/// `snapsync member role`: changes the role of a member.
struct MemberRoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "role",
        abstract: "Give a member of the signed zone another role.",
        discussion: """
            The roles are those of member approve.

            EXAMPLE
              snapsync member role phone observer --db desk.db
            """)

    @Argument(help: "The member's name, as member list shows it.", completion: Completions.devices)
    var name: String
    @Argument(help: "What it may do: writer and peer publish, reader sends messages, observer only reads.")
    var role: MemberRole
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let engine = try database.prepare(output)
        try await output.printer.run {
            let report = try await engine.setMemberRole(role, of: name)
            try output.printer.done(report, ["\(report.device) has the role \(report.role) in zone \(report.zone) from version \(report.version) on"])
        }
    }
}

/// `snapsync member settle`: lets a person resolve a fork in which both sides changed the members.
struct MemberSettleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settle",
        abstract: "Resolve conflicting changes to the member list.",
        discussion: """
            If two peers publish the same version number and both changed the list of members, one of the two versions counts. The device
            whose version does not publishes its change again by itself, and both changes hold. Where it cannot, because the other one has
            removed it or a member that it had removed has published since, every device that had seen its version refuses the zone (65).
            Ask the members; then run this on such a device: it imports the version that stands and, if it publishes, removes again whom
            the lost version had removed. So two members that have removed each other are both removed.

            EXAMPLE
              snapsync member settle --db desk.db
            """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let engine = try database.prepare(output)
        try await output.printer.run {
            let report = try await engine.settleMembers()
            try output.printer.done(
                report,
                [
                    "this device takes the members of zone \(report.zone) as version \(report.version ?? 0) has them; it is \(report.role.map { "a \($0)" } ?? "no member")",
                    report.repeated.isEmpty ? "  nobody had to be removed again" : "  changed or removed again: \(report.repeated.joined(separator: ", "))",
                ])
        }
    }
}

/// `snapsync member freshness`: promises a version at least once a day.
struct MemberFreshnessCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "freshness",
        abstract: "Let publishers make a version at least once a day, so that devices notice when new versions are withheld.",
        discussion: """
            Whoever administers the store cannot forge a version, but can keep new ones back. With on, each publisher signs a version at
            least once a day, also if nothing was changed, with its usual syncs; it changes no row and costs one small file. A reader
            whose newest version is more than three days old warns: sync, status and doctor say so. off takes that back. Run it on a
            member that publishes (78). init --freshness does the same for a new zone.

            EXAMPLES
              snapsync member freshness on --db desk.db
              snapsync member freshness off --db desk.db
            """)

    enum State: String, ExpressibleByArgument, CaseIterable {
        case on, off
    }

    @Argument(help: "Whether there is a version at least once a day.")
    var state: State
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let engine = try database.prepare(output)
        try await output.printer.run {
            let report = try await engine.setFreshness(state == .on)
            try output.printer.done(
                report,
                [
                    report.interval == nil
                        ? "zone \(report.zone) has a version only when there is something new, from version \(report.version) on"
                        : "zone \(report.zone) has a version at least once a day, from version \(report.version) on; devices warn after three days without one"
                ])
        }
    }
}
