import ArgumentParser
import SnapshotSync

/// `snapsync enable`: turns sync on.
struct EnableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Turns sync on for this database; nothing that was changed while it was off is lost.",
        discussion: """
            The choice is kept in the database and counts from the next run of any program on.

            EXAMPLES
              snapsync enable --db phone.db
              snapsync enable --db phone.db --preference-file settings.json --preference-key iCloudSync
              snapsync enable --db phone.db --entitlement licence.json
            """)

    @OptionGroup var database: DatabaseFile
    @OptionGroup var binding: PreferenceOptions
    @Flag(name: .long, help: "Bind the choice to no file any more.")
    var unbind = false
    @OptionGroup var entitlement: EntitlementOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard try binding.file() == nil || !unbind else { throw ValidationError("Give --preference-file or --unbind, not both.") }
    }

    func run() async throws {
        let path = try database.path()
        try await output.printer.run {
            let gate = try SyncEngine.ofCommand(database: path).gate
            if let file = entitlement.entitlement { try gate.setEntitlementFile(file) }
            if let file = try binding.file() { try gate.bind(to: file) } else if unbind { try gate.bind(to: nil) }
            let report = try await gate.turn(on: true)
            try output.printer.print(report, report.lines(of: path))
        }
    }
}

extension PreferenceReport {
    /// What is so now.
    func lines(of path: String) -> [String] {
        let state = isEnabled ? "sync is on" : "sync is off; changes go on being noted, and nothing is read from or sent to the cloud"
        return ["\(path): \(state)" + (wasEnabled == isEnabled ? ", as it was" : "")] + (isEnabled ? gate.lines : []).map { "  \($0)" }
            + warnings.map { "  warning: \($0)" }
    }
}
