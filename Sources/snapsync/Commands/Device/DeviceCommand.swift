import ArgumentParser
import CommandSupport
import SnapshotSync

/// `snapsync device`: manages the names of a zone's devices.
struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device",
        abstract: "List the zone's devices, rename, move or claim this one, or forget one that is gone.",
        discussion: """
            EXAMPLES
              snapsync device list desk.db
              snapsync device rename watch.db kitchen
              snapsync device forget desk.db old-phone
              snapsync device claim restored.db
              snapsync device move phone.db /mnt/new/cloud
            """,
        subcommands: [
            DeviceListCommand.self, DeviceRenameCommand.self, DeviceForgetCommand.self, DeviceClaimCommand.self, DeviceMoveCommand.self,
        ],
        defaultSubcommand: DeviceListCommand.self)
}

/// `snapsync device list`: lists the zone's devices.
struct DeviceListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the devices of the zone, with the version that each has.",
        discussion: """
            EXAMPLES
              snapsync device list desk.db
              snapsync device list desk.db --json
            """)

    @OptionGroup var options: EngineArguments

    func run() async throws {
        try await options.run { engine, _ in
            let report = try await engine.status()
            try options.printer.print(report.devices, lines: report.deviceLines(all: true))
            if let problem = report.cloudProblem { throw problem }
        }
    }
}

/// `snapsync device claim`: makes this database the device of a name.
struct DeviceClaimCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "claim",
        abstract: "Make this database the device of a name that another database had.",
        discussion: """
            Use it after the other database was lost, copied or restored. Only the name changes and, with --location, the stored path. In a \
            database that is not set up, pass --take-over to join instead. See docs/writers.md.

            EXAMPLES
              snapsync device claim restored.db
              snapsync device claim restored.db --name phone
            """)

    @OptionGroup var database: DatabaseFile
    @Option(name: .long, help: ArgumentHelp("The name. Default: the stored one, or the zone's only publisher.", valueName: "name"))
    var name: String?
    @Option(name: .long, help: ArgumentHelp("Also store this path or bucket.", valueName: "dir"), completion: .directory)
    var location: String?
    @OptionGroup(title: "Common options") var output: OutputOptions

    func run() async throws {
        let path = try database.path()
        try await output.printer.run {
            let report = try await SyncEngine.ofCommand(database: path, location: location ?? LocationOption.ofEnvironment).devices.takeOver(
                as: name, relocatingTo: location)
            try output.printer.done(report, isIrreplaceable: report.signature?.recoveryCode != nil, report.lines)
        }
    }
}

/// `snapsync device move`: stores a new path of the location.
struct DeviceMoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "move",
        abstract: "Store another path of the location, after it was moved or mounted elsewhere.",
        discussion: """
            To use another path for one run, pass --location to that command instead. The place must have the same identity, and a history \
            that contains the version of this database. On a peer it must also be a place where several devices can publish \
            (docs/writers.md). move neither imports nor publishes.

            EXAMPLE
              snapsync device move phone.db /mnt/new/cloud
            """)

    @OptionGroup var database: DatabaseFile
    @Argument(help: "The new path or bucket.", completion: .directory)
    var location: String
    @OptionGroup(title: "Common options") var output: OutputOptions

    func run() async throws {
        let path = try database.path()
        try await output.printer.run {
            let report = try await SyncEngine.ofCommand(database: path).devices.relocate(to: location)
            try output.printer.done(
                report, ["\(report.database) finds its location in \(report.cloud) from now on", "  it was stored as \(report.previousCloud)"])
        }
    }
}

/// `snapsync device forget`: removes a device that no longer exists from the zone's list.
struct DeviceForgetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Remove a device that is gone for good from the zone's list.",
        discussion: """
            Remove the device's reports, so that status and check no longer list it, and free its name. Its versions and edits are kept. \
            If the device syncs again, it is listed again. You cannot forget this device, or the publisher of a zone with one publisher.

            EXAMPLE
              snapsync device forget desk.db old-phone
            """)

    @OptionGroup var options: EngineArguments
    @Argument(help: "The device's name, as status prints it.")
    var name: String

    func run() async throws {
        try await options.done { engine, _ in
            let report = try await engine.devices.forget(name)
            return (
                report,
                ["zone \(report.zone) no longer lists \(report.device), which had \(report.version.map { "version \($0)" } ?? "no version")"]
            )
        }
    }
}

/// `snapsync device rename`: renames this device.
struct DeviceRenameCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename",
        abstract: "Rename this device in its zone.",
        discussion: """
            Unpublished changes and undecided edits are kept. The reports under the old name are removed. The new name must be unused in \
            the zone. You cannot rename the publisher of a zone with one publisher, or a device in a signed zone.

            EXAMPLE
              snapsync device rename watch.db kitchen
            """)

    @OptionGroup var options: EngineArguments
    @Argument(help: "The new name.")
    var name: String

    func run() async throws {
        try await options.done { engine, _ in
            let report = try await engine.devices.rename(to: name)
            return (
                report,
                ["\(report.database) is the device \(report.device) of zone \(report.zone) from now on; it was \(report.previousDevice)"]
                    + report.warnings.map { "  warning: \($0)" }
            )
        }
    }
}
