import ArgumentParser
import CloudStore
import CommandSupport
import SnapshotSync
import StrictText

/// The options and the output of `zone sign` and `zone encrypt`.
struct TurnOverOptions: ParsableArguments {
    @OptionGroup var options: EngineArguments
    @Option(name: .long, help: ArgumentHelp("The name of the new zone. Default: the current name with -signed or -sealed.", valueName: "name"))
    var zone: String?
    @Flag(name: .long, help: "Also remove the versions, pins and messages of the old zone, now or in a later run.")
    var pruneOld = false
    @OptionGroup var trial: DryRunOption

    func run(_ wanted: TurnOverRequest) async throws {
        try await options.run { engine, _ in
            var request = wanted
            request.zone = zone
            request.removesEarlier = pruneOld
            request.isDryRun = trial.dryRun
            let printer = options.printer
            // The recovery code is printed as soon as it exists, because it is shown only once, even if a later step fails.
            let report = try await engine.turnOver(
                request, showsCode: { code in if !printer.isJSON { try? printer.print(code.words, RecoveryWords.lines(code.words)) } })
            try printer.done(report, isIrreplaceable: trial.dryRun || report.recoveryCode != nil, trial.dryRun ? report.plan : report.lines)
        }
    }
}

extension TurnOverReport {
    /// What would happen.
    fileprivate var plan: [String] {
        let rows = datasets.map { "\($0.name)\($0.recordCount.map { " (\(Format.entities($0)))" } ?? "")" }.joined(separator: ", ")
        return ["zone \(earlierZone) would end with version \(earlierVersion.map { $0 + 1 } ?? 1), and go on as the \(kind) zone \(zone)"]
            + ["  its first version would have every dataset whole: \(rows)"] + devices(willAsk: true)
            + [
                isEarlierRemoved
                    ? "  \(left) would be removed"
                    : "  \(left) would stay, readable for whoever can read the store; --prune-old would remove them"
            ] + pins
    }

    /// What was done.
    fileprivate var lines: [String] {
        ["zone \(earlierZone) goes on as the \(kind) zone \(zone)\(version.map { ", which has version \($0)" } ?? "")"]
            + (creator.map { ["  this device made it; its words, for a device that joins (--trust): \($0)"] } ?? []) + devices(willAsk: false)
            + [
                isEarlierRemoved
                    ? "  \(left) were removed"
                    : "  \(left) stay, readable for whoever can read the store, until: "
                        + HintCommands().complete("snapsync zone \(isSealed ? "encrypt" : "sign") --prune-old")
            ] + (isEarlierRemoved ? [] : pins) + warnings.map { "  warning: \($0)" }
    }

    private var left: String {
        "the versions of zone \(earlierZone) up to \(earlierVersion ?? 0) (\(Format.count(earlierFiles, "file")), \(Format.bytes(earlierBytes)))"
    }

    private var pins: [String] {
        pinnedVersions.isEmpty
            ? [] : ["  version \(pinnedVersions.map(String.init).joined(separator: ", ")) is pinned in zone \(earlierZone), and in that zone alone"]
    }

    private func devices(willAsk: Bool) -> [String] {
        let stay = "\(willAsk ? "would stay" : "stay") \(Format.word(admitted.count, "a member", or: "members"))"
        return (admitted.isEmpty ? [] : ["  \(admitted.joined(separator: ", ")) \(stay)"])
            + (toApprove.isEmpty
                ? []
                : [
                    "  \(toApprove.joined(separator: ", ")) \(willAsk ? "would ask" : toApprove.count == 1 ? "asks" : "ask") to be a member with the next sync there; \(HintCommands().complete("compare the words, then: snapsync zone approve NAME"))"
                ])
    }
}

/// `snapsync zone encrypt`: moves the data of an existing zone to a sealed zone.
struct ZoneEncryptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "encrypt",
        abstract: "Encrypt an existing zone: later versions can be read by its members only.",
        discussion: """
            Continue the data in a new, encrypted zone (docs/security.md), and print a recovery code once. Run this on a device that \
            publishes. The last version of the old zone names the new one, and publishing in the old zone ends. Every other device follows \
            with its next sync and keeps its unpublished changes. It requests access and waits until you run snapsync zone approve NAME \
            on a member. Members of a signed zone stay members.

            Anyone who can read the store can still read the earlier versions, until --prune-old removes them, now or later. If the \
            command is interrupted, run it again.

            EXAMPLES
              snapsync zone encrypt desk.db --dry-run
              snapsync zone encrypt desk.db
              snapsync zone encrypt desk.db --prune-old
            """)

    @Flag(name: .long, help: "Pad encrypted data to hide exact sizes. This adds at most 12 % to the size.")
    var padded = false
    @Flag(
        name: .long,
        help:
            """
            Protect the keys for members with X-Wing (ML-KEM-768 and X25519) against quantum computers. Members of a signed zone must \
            be approved again.
            """
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

/// `snapsync zone sign`: moves the data of an existing zone to a signed zone.
struct ZoneSignCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign",
        abstract: "Sign an existing zone: from then on, keys decide who may publish and send edits.",
        discussion: """
            Continue the data in a new, signed zone (docs/security.md). Run this on a device that publishes. The last version of the old \
            zone names the new one, and publishing in the old zone ends. Every other device follows with its next sync, keeps its \
            unpublished changes, and requests access: snapsync zone approve NAME.

            The earlier versions stay unsigned in the store, until --prune-old removes them, now or later. If the command is interrupted, \
            run it again.

            EXAMPLES
              snapsync zone sign desk.db --dry-run
              snapsync zone sign desk.db
            """)

    @OptionGroup var turning: TurnOverOptions

    func run() async throws { try await turning.run(TurnOverRequest(isSealed: false)) }
}
