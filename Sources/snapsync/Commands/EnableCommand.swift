import ArgumentParser
import SnapshotSync
import StrictText

/// `snapsync enable`: turns sync on.
struct EnableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Turn sync on for this database; changes made while it was off are kept.",
        discussion: """
            Turn sync on for every program that opens the database. The command first prints what the next sync would change on each side, \
            as plan does, and asks. If you do not answer yes, nothing changes. Without a terminal, pass --yes.

            EXAMPLES
              snapsync enable --db phone.db
              snapsync enable --yes --db phone.db
              snapsync enable --db phone.db --entitlement entitlement.json
            """)

    @OptionGroup var database: DatabaseFile
    @Flag(name: .long, help: "Do not ask, and do not read the shared folder.")
    var yes = false
    @OptionGroup var entitlement: EntitlementOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let path = try database.path()
        try await output.printer.run {
            let engine = try SyncEngine.ofCommand(database: path), gate = engine.gate
            if !yes { guard try await isConfirmed(engine) else { return } }
            if let file = entitlement.entitlement { try gate.setEntitlementFile(file) }
            let report = try await gate.turn(on: true)
            try output.printer.done(report, report.lines(of: path))
        }
    }

    /// Shows what the next sync would do and asks for confirmation. If sync is already on, it does not ask.
    private func isConfirmed(_ engine: SyncEngine) async throws -> Bool {
        if try await engine.gate.report().isEnabled { return true }
        guard StandardStream.isInputTerminal else {
            throw ValidationError(
                "Standard input is not a terminal. See what a sync would do with: snapsync plan, and pass --yes to confirm.")
        }
        StandardStream.ask(try await preview(engine).map { VisibleText.escape($0) + "\n" }.joined())
        StandardStream.ask("Turn sync on? Type yes: ")
        if readLine() == "yes" { return true }
        StandardStream.ask("nothing was changed\n")
        return false
    }

    private func preview(_ engine: SyncEngine) async throws -> [String] {
        do {
            return try await engine.plan(asIfEnabled: true).lines(rest: "snapsync plan --all")
        } catch let error as SyncError {
            return ["what a sync would do is not known: \(error.place): \(error.reason)"]
        }
    }
}

extension PreferenceReport {
    /// The resulting state.
    func lines(of path: String) -> [String] {
        let state = isEnabled ? "sync is on" : "sync is off; changes go on being noted, and nothing is read from or sent to the cloud"
        return ["\(path): \(state)" + (wasEnabled == isEnabled ? ", as it was" : "")] + (isEnabled ? gate.lines : []).map { "  \($0)" }
            + warnings.map { "  warning: \($0)" }
    }
}

/// `snapsync disable`: turns sync off.
struct DisableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Turn sync off for this database, from the next step of any run on.",
        discussion: """
            Turn sync off at once. A run in progress publishes nothing more.

            EXAMPLE
              snapsync disable --db phone.db
            """)

    @OptionGroup var options: EngineArguments

    func run() async throws {
        try await options.done { engine, _ in
            let report = try await engine.gate.turn(on: false)
            return (report, report.lines(of: try options.database.file.path()))
        }
    }
}
