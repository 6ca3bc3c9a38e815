import ArgumentParser
import SnapshotSync

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
