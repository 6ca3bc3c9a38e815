import ArgumentParser
import CommandSupport
import SnapshotSync
import StrictText

/// `snapsync config`: shows and changes the stored settings.
struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Show and change the settings that are stored in a database.",
        discussion: """
            The settings that you can change:

            - sync: on or off. A change applies at once, to every program that opens the database. Changes made while sync is off are kept.

            - entitlement: a JSON file that states whether this user may sync, or none.

            - asset-limit: the largest size of an asset, such as 500MB.

            - keep: after publishing, at most once a day, remove versions older than this, such as 30d, or none.

            - keep-last: keep this many last states of the data, or none. With both, a version is kept if either keeps it.

            - interval: how often cron or systemd syncs the database, such as 15m, or none. status --strict and check then report when the \
            last success is older than three intervals.

            EXAMPLES
              snapsync config app.db
              snapsync config set app.db sync off
              snapsync config set app.db keep 30d
            """,
        subcommands: [ConfigListCommand.self, ConfigGetCommand.self, ConfigSetCommand.self],
        defaultSubcommand: ConfigListCommand.self)
}

/// `snapsync config list`: lists the settings.
struct ConfigListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the stored settings.",
        discussion: """
            EXAMPLES
              snapsync config app.db
              snapsync config list app.db --json
            """)

    @OptionGroup var database: DatabaseFile
    @OptionGroup(title: "Common options") var output: OutputOptions

    func run() async throws {
        let path = try database.path()
        try await output.printer.run {
            let report = try SyncEngine.ofCommand(database: path).settings()
            try output.printer.print(report, report.settings.map { "\($0.key): \($0.value ?? "none")" })
        }
    }
}

/// `snapsync config get`: prints one setting.
struct ConfigGetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Print a stored setting.",
        discussion: """
            EXAMPLE
              snapsync config get app.db keep
            """)

    @OptionGroup var database: DatabaseFile
    @Argument(help: "The setting, as config list prints it.")
    var key: String
    @OptionGroup(title: "Common options") var output: OutputOptions

    func run() async throws {
        let path = try database.path()
        try await output.printer.run {
            let report = try SyncEngine.ofCommand(database: path).settings()
            guard let setting = report.settings.first(where: { $0.key.exact == key.exact }) else {
                throw ValidationError("There is no setting '\(key)'. The settings are \(report.settings.map(\.key).joined(separator: ", ")).")
            }
            try output.printer.print(setting, [setting.value ?? "none"])
        }
    }
}

/// `snapsync config set`: changes one setting.
struct ConfigSetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Change a stored setting.",
        discussion: """
            See snapsync config --help for the settings. If you turn sync on, the command first prints what the next sync would change on \
            each side, as sync -n does, and asks. If you do not answer yes, no setting changes. Without a terminal, pass --yes.

            EXAMPLES
              snapsync config set phone.db sync on
              snapsync config set phone.db sync on --yes
              snapsync config set phone.db sync off
              snapsync config set phone.db entitlement entitlement.json
              snapsync config set phone.db keep-last none
            """)

    @OptionGroup var database: DatabaseFile
    @Argument(help: "The setting: sync, entitlement, asset-limit, keep, keep-last or interval.")
    var key: Key
    @Argument(help: "The value. none removes entitlement, keep, keep-last and interval.")
    var value: String
    @OptionGroup var confirmation: ConfirmationOption
    @OptionGroup(title: "Common options") var output: OutputOptions

    enum Key: String, ExpressibleByArgument, CaseIterable {
        case sync, entitlement, keep, interval
        case assetLimit = "asset-limit"
        case keepLast = "keep-last"
    }

    private var isNone: Bool { value == "none" }

    func validate() throws {
        let isValid =
            switch key {
            case .sync: ["on", "off"].contains(value)
            case .entitlement: !value.isEmpty
            case .assetLimit: ByteCount(argument: value) != nil
            case .keep, .interval: isNone || TimeSpan(argument: value).map { $0.duration >= .seconds(1) } ?? false
            case .keepLast: isNone || Int(value).map { $0 >= 1 } ?? false
            }
        guard !isValid else { return }
        let values = [
            Key.sync: "on or off", .entitlement: "a file or none", .assetLimit: "a size such as 500MB", .keep: "a time of at least 1s such as 30d, or none",
            .interval: "a time of at least 1s such as 15m, or none",
            .keepLast: "a number of at least 1, or none",
        ]
        throw ValidationError("The value of \(key.rawValue) is \(values[key] ?? "").")
    }

    func run() async throws {
        let path = try database.path()
        try await output.printer.run {
            let engine = try SyncEngine.ofCommand(database: path)
            var gate: [String] = []
            switch key {
            case .sync:
                if value == "on" { guard try await isConfirmed(engine) else { return } }
                let report = try await engine.gate.turn(on: value == "on")
                return try output.printer.done(report, report.lines(of: path))
            case .entitlement:
                try engine.gate.setEntitlementFile(isNone ? nil : value)
                gate = try await engine.gate.report().lines
            case .assetLimit: if let size = ByteCount(argument: value) { try engine.setAssetLimit(size.value) }
            case .keep: try await engine.setRetention(keepWithin: .some(isNone ? nil : TimeSpan(argument: value)?.duration))
            case .interval: try engine.setInterval(isNone ? nil : TimeSpan(argument: value)?.duration)
            case .keepLast: try await engine.setRetention(keepLast: .some(isNone ? nil : Int(value)))
            }
            let report = try engine.settings()
            let set = report.settings.first { $0.key == key.rawValue }
            try output.printer.done(report, ["\(path): \(key.rawValue) is \(set?.value ?? "none")"] + gate.map { "  \($0)" })
        }
    }

    /// Shows what the next sync would do and asks for confirmation. If sync is already on, it does not ask.
    private func isConfirmed(_ engine: SyncEngine) async throws -> Bool {
        if confirmation.yes { return true }
        if try await engine.gate.report().isEnabled { return true }
        guard StandardStream.isInputTerminal else {
            throw ValidationError(
                "Standard input is not a terminal. Pass --yes to confirm. " + HintCommands().complete("To see what a sync would do: snapsync sync -n"))
        }
        StandardStream.ask(try await preview(engine).map { VisibleText.escape($0) + "\n" }.joined())
        return try confirmation.isConfirmed("Turn sync on?")
    }

    private func preview(_ engine: SyncEngine) async throws -> [String] {
        do {
            return try await engine.plan(asIfEnabled: true).lines(rest: "snapsync sync -n --all")
        } catch let error as SyncError {
            return ["what a sync would do is not known: \(error.place): \(error.reason)"]
        }
    }
}

extension PreferenceReport {
    /// The resulting state.
    func lines(of path: String) -> [String] {
        let state = isEnabled ? "sync is on" : "sync is off; changes go on being noted, and nothing is read from or sent to the location"
        return ["\(path): \(state)" + (wasEnabled == isEnabled ? ", as it was" : "")] + (isEnabled ? gate.lines : []).map { "  \($0)" }
            + warnings.map { "  warning: \($0)" }
    }
}
