public import ArgumentParser
public import CloudStore
import SnapshotSync
import StrictText

/// `snapsync member`: manages who may write to a signed zone.
struct MemberCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "member",
        abstract: "Show and change who may publish and send edits in a signed zone.",
        discussion: """
            A device requests access when you run init for it in a signed zone. Approve it on a member that publishes.

            EXAMPLES
              snapsync member list --db desk.db
              snapsync member approve phone --db desk.db
              snapsync member role phone observer --db desk.db
              snapsync member remove phone --db desk.db
              snapsync member freshness on --db desk.db
            """,
        subcommands: [
            MemberListCommand.self, MemberApproveCommand.self, MemberRoleCommand.self, MemberRemoveCommand.self, MemberFreshnessCommand.self,
        ])
}

extension MemberRole: ExpressibleByArgument {}

/// `snapsync member list`: lists the members of a signed zone and the devices that ask to be members.
struct MemberListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the members of a signed zone, their roles and fingerprints, and the devices that request access.",
        discussion: """
            List the members of a signed zone with their roles and words, who approved them and when, and the devices that request access. \
            See docs/security.md.

            EXAMPLES
              snapsync member list --db desk.db
              snapsync member list --json --db desk.db | jq -r '.requests[].device'
            """)

    @OptionGroup var options: EngineArguments

    func run() async throws {
        try await options.run { engine, _ in
            let report = try await engine.members()
            try options.printer.print(report, report.lines)
        }
    }
}

extension MembersReport {
    /// The creator, the members and the requests, one line each.
    var lines: [String] {
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
            + (requests.contains { !$0.isNameTaken } ? ["  compare the words with those on the device, then: snapsync member approve NAME"] : [])
    }
}

/// `snapsync member approve`: makes a device that asks for it a member.
struct MemberApproveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "approve",
        abstract: "Accept a device that requests access to the signed zone.",
        discussion: """
            Show the words of the device's keys and ask whether init printed the same words on the device. Compare them: anyone who can \
            write the store can put a request there. Without a terminal, pass --yes after you have compared them. Run this on a member \
            that publishes. The change is a version of its own. In a sealed zone the device then gets the keys. Run the same init there \
            again.

            EXAMPLES
              snapsync member approve phone --db desk.db
              snapsync member approve kiosk --role observer --yes --db desk.db
            """)

    @Argument(help: "The device's name, as member list prints it.")
    var name: String
    @Option(
        name: .long,
        help: """
            The member's role: writer and peer publish, reader sends edits, observer only reads. In a zone with one publisher, other \
            devices cannot publish. Default: the role that the device was set up with.
            """)
    var role: MemberRole?
    @Flag(name: .long, help: "Do not ask. Use it after you have compared the words.")
    var yes = false
    @OptionGroup var options: EngineArguments

    func run() async throws {
        try await options.done { engine, _ in
            let members = try await engine.members()
            let words = try members.compared(name, yes: yes)
            let report = try await engine.approveMember(name, as: role, fingerprint: words)
            return (
                report,
                ["\(report.device) is a member of zone \(report.zone) from version \(report.version) on, as a \(report.role): \(report.fingerprint)"]
                    + (report.epoch == nil ? [] : ["  it can read the sealed zone now; if it has not been set up yet, run the same snapsync init there again"])
            )
        }
    }

}

extension MembersReport {
    /// The words of a device that asks to be a member, once a person has compared them.
    ///
    /// - Parameter yes: whether that was done already.
    func compared(_ name: String, yes: Bool) throws -> KeyFingerprint {
        guard let request = requests.first(where: { $0.device == name }), let words = KeyFingerprint(request.fingerprint) else {
            let isMember = members.contains { $0.device == name }
            throw SyncError(
                isMember ? .refused : .nothingThere, at: "zone \(zone)",
                isMember ? "\(name) is a member already" : "no device asks to be a member as \(name)",
                hint: "snapsync member list shows who is one, and who asks")
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
            Versions, messages and reports that the device signs later are refused. It can still read what it could read before, as long \
            as it can read the store. In a sealed zone, later versions have new keys, but their unchanged blocks keep the old ones \
            (docs/security.md). You cannot remove the last member that publishes.

            EXAMPLE
              snapsync member remove phone --db desk.db
            """)

    @Argument(help: "The member's name, as member list prints it.")
    var name: String
    @OptionGroup var options: EngineArguments

    func run() async throws {
        try await options.done { engine, _ in
            let report = try await engine.removeMember(name)
            return (
                report,
                [
                    "\(report.device) is no member of zone \(report.zone) any more, from version \(report.version) on",
                    report.epoch.map {
                        "  what is published from now on has new keys, of epoch \($0), which it does not get; what it could read it can still read"
                    } ?? "  what it could read it can still read, as long as it can read the cloud",
                ]
            )
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

    @Argument(help: "The member's name, as member list prints it.")
    var name: String
    @Argument(help: "The new role: writer and peer publish, reader sends edits, observer only reads.")
    var role: MemberRole
    @OptionGroup var options: EngineArguments

    func run() async throws {
        try await options.done { engine, _ in
            let report = try await engine.setMemberRole(role, of: name)
            return (report, ["\(report.device) has the role \(report.role) in zone \(report.zone) from version \(report.version) on"])
        }
    }
}

/// `snapsync member freshness`: promises a version at least once a day.
struct MemberFreshnessCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "freshness",
        abstract: "Let publishers make a version at least once a day, so that devices notice when new versions are withheld.",
        discussion: """
            Someone who controls the store can hide new versions, but not forge one. With on, publishers sign a version at least once a \
            day during their usual syncs, even without changes. It costs one small file. On a reader, sync, status and doctor warn if the \
            newest version is more than three days old. Run this on a member that publishes. For a new zone, pass --freshness to init.

            EXAMPLES
              snapsync member freshness on --db desk.db
              snapsync member freshness off --db desk.db
            """)

    enum State: String, ExpressibleByArgument, CaseIterable {
        case on, off
    }

    @Argument(help: "on for a version at least once a day, off to end that.")
    var state: State
    @OptionGroup var options: EngineArguments

    func run() async throws {
        try await options.done { engine, _ in
            let report = try await engine.setFreshness(state == .on)
            return (
                report,
                [
                    report.interval == nil
                        ? "zone \(report.zone) has a version only when there is something new, from version \(report.version) on"
                        : "zone \(report.zone) has a version at least once a day, from version \(report.version) on; devices warn after three days without one"
                ]
            )
        }
    }
}
