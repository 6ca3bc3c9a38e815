public import ArgumentParser
public import CloudStore
import CommandSupport
import SnapshotSync
import StrictText

/// `snapsync zone`: protects a zone, and manages its members and keys.
struct ZoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "zone",
        abstract: "List zones, sign or encrypt one, and manage its members and keys.",
        discussion: """
            A location can have several zones, each with the tables of one database. In a signed zone, keys decide who can publish and send \
            edits. In an encrypted zone, only members can read. A device requests access when you run join for it. Approve it on a member \
            that publishes.

            EXAMPLES
              snapsync zone list /mnt/share/app
              snapsync zone encrypt desk.db
              snapsync zone members desk.db
              snapsync zone approve desk.db phone
              snapsync zone revoke desk.db phone
              snapsync zone rotate-keys desk.db
            """,
        subcommands: [
            ZoneListCommand.self, ZoneSignCommand.self, ZoneEncryptCommand.self, ZoneMembersCommand.self, ZoneApproveCommand.self, ZoneRoleCommand.self,
            ZoneRevokeCommand.self, ZoneFreshnessCommand.self, ZoneRotateKeysCommand.self, ZonePassphraseCommand.self,
        ])
}

/// `snapsync zone list`: lists the zones of a location.
struct ZoneListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the zones of a location.",
        discussion: """
            EXAMPLE
              snapsync zone list /mnt/share/app
            """)

    @OptionGroup var look: LookOptions
    @OptionGroup(title: "Common options") var output: OutputOptions

    private struct Zone: Encodable {
        let zone: String
        /// The device that made it.
        let creator: String
        let publishers: String
        let isSigned: Bool
        let isEncrypted: Bool
    }

    func run() async throws {
        try await output.printer.run {
            let stored = try look.database.map { _ in try look.engine().settings().settings.first { $0.key == "location" }?.value }
            let zones = try await CloudLocation.open(stored.flatMap(\.self) ?? look.required()).zones().filter { $0.id.scope == .private }.map { zone in
                Zone(zone: zone.id.name, creator: zone.creator, publishers: zone.publishers.rawValue, isSigned: zone.isSigned, isEncrypted: zone.isSealed)
            }
            try output.printer.print(
                zones,
                zones.map { zone in
                    "\(zone.zone): made by \(zone.creator)" + (zone.publishers == "one" ? "" : ", peers")
                        + (zone.isEncrypted ? ", encrypted" : zone.isSigned ? ", signed" : "")
                })
        }
    }
}

extension MemberRole: ExpressibleByArgument {}

/// `snapsync zone members`: lists the members of a signed zone and the devices that ask to be members.
struct ZoneMembersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "members",
        abstract: "List the members of a signed zone, their roles and fingerprints, and the devices that request access.",
        discussion: """
            List the members of a signed zone with their roles and words, who approved them and when, and the devices that request access. \
            See docs/security.md.

            EXAMPLES
              snapsync zone members desk.db
              snapsync zone members desk.db --json | jq -r '.requests[].device'
            """)

    @OptionGroup var options: EngineArguments

    func run() async throws {
        try await options.run { engine, _ in
            let report = try await engine.members.list()
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
            + (requests.contains { !$0.isNameTaken }
                ? [HintCommands().complete("  compare the words with those of the device; then: snapsync zone approve NAME")] : [])
    }
}

/// `snapsync zone approve`: makes a device that asks for it a member.
struct ZoneApproveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "approve",
        abstract: "Accept a device that requests access to the signed zone.",
        discussion: """
            Show the words of the device's keys and ask whether join printed the same words on the device. Compare them: anyone who can \
            write the store can put a request there. Without a terminal, pass --yes after you have compared them. Run this on a member \
            that publishes. The change is a version of its own. In an encrypted zone the device then gets the keys. Run the same join there \
            again.

            EXAMPLES
              snapsync zone approve desk.db phone
              snapsync zone approve desk.db kiosk --role observer --yes
            """)

    @OptionGroup var options: EngineArguments
    @Argument(help: "The device's name, as zone members prints it.")
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

    func run() async throws {
        try await options.done { engine, _ in
            let members = try await engine.members.list()
            let words = try members.compared(name, yes: yes)
            let report = try await engine.members.approve(name, as: role, fingerprint: words)
            return (
                report,
                ["\(report.device) is a member of zone \(report.zone) from version \(report.version) on, as a \(report.role): \(report.fingerprint)"]
                    + (report.epoch == nil ? [] : ["  it can read the sealed zone now; if it has not been set up yet, run the same snapsync join there again"])
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
                isMember ? .refused : .nothingThere, at: ZoneID(zone).place,
                isMember ? "\(name) is a member already" : "no device asks to be a member as \(name)",
                hint: "snapsync zone members shows who is one, and who asks")
        }
        guard try yes || isConfirmed(request) else {
            throw SyncError(.refused, at: ZoneID(zone).place, "\(name) was not approved", hint: "if the words differ, the request is not that device's")
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

/// `snapsync zone revoke`: ends a device's membership, so that its signatures are refused.
struct ZoneRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "End a device's membership of the signed zone.",
        discussion: """
            Versions, messages and reports that the device signs later are refused. It can still read what it could read before, as long \
            as it can read the store. In an encrypted zone, later versions have new keys, but their unchanged blocks keep the old ones \
            (docs/security.md). You cannot remove the last member that publishes.

            EXAMPLE
              snapsync zone revoke desk.db phone
            """)

    @OptionGroup var options: EngineArguments
    @Argument(help: "The member's name, as zone members prints it.")
    var name: String

    func run() async throws {
        try await options.done { engine, _ in
            let report = try await engine.members.remove(name)
            return (
                report,
                [
                    "\(report.device) is no member of zone \(report.zone) any more, from version \(report.version) on",
                    report.epoch.map {
                        "  what is published from now on has new keys, of epoch \($0), which it does not get; what it could read it can still read"
                    } ?? "  what it could read it can still read, as long as it can read the location",
                ]
            )
        }
    }
}

/// `snapsync zone role`: changes the role of a member.
struct ZoneRoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "role",
        abstract: "Give a member of the signed zone another role.",
        discussion: """
            The roles are those of zone approve.

            EXAMPLE
              snapsync zone role desk.db phone observer
            """)

    @OptionGroup var options: EngineArguments
    @Argument(help: "The member's name, as zone members prints it.")
    var name: String
    @Argument(help: "The new role: writer and peer publish, reader sends edits, observer only reads.")
    var role: MemberRole

    func run() async throws {
        try await options.done { engine, _ in
            let report = try await engine.members.setRole(role, of: name)
            return (report, ["\(report.device) has the role \(report.role) in zone \(report.zone) from version \(report.version) on"])
        }
    }
}

/// `snapsync zone freshness`: promises a version at least once a day.
struct ZoneFreshnessCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "freshness",
        abstract: "Let publishers make a version at least once a day, so that devices notice when new versions are withheld.",
        discussion: """
            Someone who controls the store can hide new versions, but not forge one. With on, publishers sign a version at least once a \
            day during their usual syncs, even without changes. It costs one small file. On a reader, sync, status and check warn if the \
            newest version is more than three days old. Run this on a member that publishes. For a new zone, pass --freshness to init.

            EXAMPLES
              snapsync zone freshness desk.db on
              snapsync zone freshness desk.db off
            """)

    enum State: String, ExpressibleByArgument, CaseIterable {
        case on, off
    }

    @OptionGroup var options: EngineArguments
    @Argument(help: "on for a version at least once a day, off to end that.")
    var state: State

    func run() async throws {
        try await options.done { engine, _ in
            let report = try await engine.members.setFreshness(state == .on)
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
