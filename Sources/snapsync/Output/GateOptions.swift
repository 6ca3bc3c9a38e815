import ArgumentParser
import CommandSupport
import SnapshotSync

/// The option for the file that states who may sync.
struct EntitlementOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            A JSON file that states whether this user may sync, and until when: {"validUntil":"2027-01-01T00:00:00Z"}. Every run reads \
            it.
            """, valueName: "file"),
        completion: .file())
    var entitlement: String?
}

extension GateReport {
    /// The parts of the report that are worth printing: why the gate is closed, and what is known of the entitlement.
    var lines: [String] {
        var lines: [String] = []
        if let reason { lines.append("not synced: \(reason)") }
        if let hint { lines.append("  hint: \(hint)") }
        if isOpen, let entitledUntil { lines.append("entitled until \(entitledUntil)") }
        if isOpen, let entitlementProblem { lines.append("by the last answer, for the entitlement cannot be asked for: \(entitlementProblem)") }
        return lines
    }
}
