import ArgumentParser
import SnapshotSync

/// The options for a settings file of an application that stores the user's choice.
struct PreferenceOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Bind the choice to a JSON file, such as an application's settings. A change on either side is copied to the other.
            """, valueName: "file"),
        completion: .file())
    var preferenceFile: String?
    @Option(name: .long, help: ArgumentHelp("With --preference-file: the key of a boolean at the top level of the file.", valueName: "key"))
    var preferenceKey: String?

    /// The file and key; nil if none is given.
    func file() throws -> FilePreference? {
        switch (preferenceFile, preferenceKey) {
        case (nil, nil): return nil
        case (let path?, let key?): return FilePreference(path: path, key: key)
        default: throw ValidationError("Pass --preference-file and --preference-key together.")
        }
    }
}

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
    /// The parts of the report that are worth printing: why the gate is closed, and where the choice is stored.
    var lines: [String] {
        var lines: [String] = []
        if let reason { lines.append("not synced: \(reason)") }
        if let hint { lines.append("  hint: \(hint)") }
        if let preferenceFile { lines.append("bound to \(preferenceKey ?? "") in \(preferenceFile)") }
        if isOpen, let entitledUntil { lines.append("entitled until \(entitledUntil)") }
        if isOpen, let entitlementProblem { lines.append("by the last answer, for the entitlement cannot be asked for: \(entitlementProblem)") }
        return lines
    }
}
