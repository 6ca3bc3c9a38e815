import ArgumentParser
import CloudStore
import SnapshotSync
import StrictText

/// The options and the output of `sign` and `seal`.
struct TurnOverOptions: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The name of the new zone. Default: the current name with -signed or -sealed.", valueName: "name"))
    var zone: String?
    @Flag(name: .long, help: "Also remove the versions, pins and messages of the old zone, now or in a later run.")
    var pruneOld = false
    @Flag(name: .long, help: "Show what would happen, and change nothing.")
    var dryRun = false
    @OptionGroup var options: EngineArguments

    func run(_ wanted: TurnOverRequest) async throws {
        try await options.run { engine, _ in
            var request = wanted
            request.zone = zone
            request.removesEarlier = pruneOld
            request.isDryRun = dryRun
            let printer = options.printer
            // The recovery code is printed as soon as it exists, because it is shown only once, even if a later step fails.
            let report = try await engine.turnOver(
                request, showsCode: { code in if !printer.isJSON { try? printer.print(code.words, RecoveryWords.lines(code.words)) } })
            try printer.done(report, isIrreplaceable: dryRun || report.recoveryCode != nil, dryRun ? report.plan : report.lines)
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
                    : "  \(left) stay, readable for whoever can read the store, until: snapsync \(isSealed ? "seal" : "sign") --prune-old"
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
                    "  \(toApprove.joined(separator: ", ")) \(willAsk ? "would ask" : toApprove.count == 1 ? "asks" : "ask") to be a member with the next sync there; compare the words, then: snapsync member approve NAME"
                ])
    }
}

/// `snapsync seal`: moves the data of an existing zone to a sealed zone.
struct SealCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "seal",
        abstract: "Encrypt an existing zone: later versions can be read by its members only.",
        discussion: """
            Continue the data in a new, sealed zone (docs/security.md), and print a recovery code once. Run this on a device that \
            publishes. The last version of the old zone names the new one, and publishing in the old zone ends. Every other device follows \
            with its next sync and keeps its unpublished changes. It requests access and waits until you run snapsync member approve NAME \
            on a member. Members of a signed zone stay members.

            Anyone who can read the store can still read the earlier versions, until --prune-old removes them, now or later. If the \
            command is interrupted, run it again.

            EXAMPLES
              snapsync seal --dry-run --db desk.db
              snapsync seal --db desk.db
              snapsync seal --prune-old --db desk.db
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

/// `snapsync sign`: moves the data of an existing zone to a signed zone.
struct SignCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign",
        abstract: "Sign an existing zone: from then on, keys decide who may publish and send edits.",
        discussion: """
            Continue the data in a new, signed zone (docs/security.md). Run this on a device that publishes. The last version of the old \
            zone names the new one, and publishing in the old zone ends. Every other device follows with its next sync, keeps its \
            unpublished changes, and requests access: snapsync member approve NAME.

            The earlier versions stay unsigned in the store, until --prune-old removes them, now or later. If the command is interrupted, \
            run it again.

            EXAMPLES
              snapsync sign --dry-run --db desk.db
              snapsync sign --db desk.db
            """)

    @OptionGroup var turning: TurnOverOptions

    func run() async throws { try await turning.run(TurnOverRequest(isSealed: false)) }
}
