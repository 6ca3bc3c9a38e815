import ArgumentParser
import CommandSupport
import Foundation
import SnapshotSync
import StrictText

/// The options for actions after a sync: a request to a monitoring service on success, a command on failure.
struct OutcomeOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            After a success, send an HTTP GET request to this URL. A failed request or an answer other than 2xx is only a warning. The \
            limit is 10 seconds, redirects are not followed, and only the host is printed.
            """,
            valueName: "url"))
    var heartbeat: String?
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            After a failure, even one that passes by itself (exit status 75), run this command with /bin/sh -c for at most 60 seconds. It gets \
            SNAPSYNC_EXIT_CODE, SNAPSYNC_ERROR (one line without row values) and SNAPSYNC_DATABASE. Its output goes to standard error.
            """,
            valueName: "command"))
    var onFailure: String?

    func validate() throws {
        guard heartbeat.map({ Heartbeat($0) != nil }) ?? true else { throw ValidationError("--heartbeat requires an http:// or https:// URL.") }
        guard onFailure != "" else { throw ValidationError("--on-failure requires a command.") }
    }

    /// Sends the heartbeat after a successful sync. If it fails, a warning is printed.
    func succeeded() {
        guard let beat = heartbeat.flatMap(Heartbeat.init), let problem = beat.send() else { return }
        Self.warn(problem)
    }

    /// Runs the command for a failure and waits for it, up to its time limit. Its output goes to standard error.
    ///
    /// - Parameter database: the path; nil if the command has no database.
    func failed(_ error: SyncError, database: String?) {
        guard let onFailure else { return }
        let step = error.step.map { "\($0.rawValue) failed: " } ?? ""
        let facts = ["SNAPSYNC_EXIT_CODE": "\(error.exitStatus)", "SNAPSYNC_ERROR": VisibleText.escape("\(step)\(error.place): \(error.reason)")]
        Self.run(onFailure, for: "failures", facts, database: database, input: .nullDevice)
    }

    /// Runs a command with facts in its environment, and warns if it fails.
    ///
    /// - Parameter purpose: what the command is for, in warnings.
    fileprivate static func run(_ command: String, for purpose: String, _ facts: [String: String], database: String?, input: FileHandle) {
        let process = Process(), ended = DispatchSemaphore(value: 0)
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", command]
        let path = database.map { URL(fileURLWithPath: $0).standardizedFileURL.path } ?? ""
        process.environment = ProcessInfo.processInfo.environment.merging(facts) { $1 }.merging(["SNAPSYNC_DATABASE": path]) { $1 }
        process.standardInput = input
        process.standardOutput = FileHandle.standardError
        process.terminationHandler = { _ in ended.signal() }
        do { try process.run() } catch { return warn("the command for \(purpose) could not be started") }
        guard ended.wait(timeout: .now() + Self.commandTime) == .success else {
            end(process, ended)
            return warn("the command for \(purpose) took more than \(Int(Self.commandTime)) seconds and was ended")
        }
        if process.terminationStatus != 0 || process.terminationReason != .exit {
            warn("the command for \(purpose) ended with \(process.terminationReason == .exit ? "" : "signal ")\(process.terminationStatus)")
        }
    }

    /// The time limit of a command, and how long it may take to end after SIGTERM, in seconds.
    private static let commandTime = 60.0, endTime = 5.0

    /// Ends a command and all processes that it started. Foundation gives each process a group of its own.
    private static func end(_ process: Process, _ ended: DispatchSemaphore) {
        kill(-process.processIdentifier, SIGTERM)
        // The shell may end before what it started; the group exists as long as one process of it does.
        let isEnded = ended.wait(timeout: .now() + endTime) == .success
        kill(-process.processIdentifier, SIGKILL)
        if !isEnded { ended.wait() }
    }

    fileprivate static func warn(_ text: String) { try? StandardStream.remark("warning", text) }
}

/// The option for a command after an import.
struct ImportCommandOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            After an import that applied a version, run this command with /bin/sh -c for at most 60 seconds. It gets SNAPSYNC_VERSION, \
            SNAPSYNC_VERSION_BEFORE, SNAPSYNC_TABLES (the datasets, separated by spaces) and SNAPSYNC_DATABASE, and on its standard input \
            the lines that snapsync changes --ndjson prints for the versions in between, with their numbers in SNAPSYNC_ADDED, \
            SNAPSYNC_CHANGED and SNAPSYNC_REMOVED. At the first import, VERSION_BEFORE is empty, and there are no lines and numbers. Its \
            output goes to standard error.
            """,
            valueName: "command"))
    var onImport: String?

    func validate() throws {
        guard onImport != "" else { throw ValidationError("--on-import requires a command.") }
    }

    /// Runs the command for imports, if a version was applied, and waits for it, up to its time limit.
    ///
    /// The changes are read from the zone once more. If they cannot be read, a warning is printed, and the command runs without them.
    func imported(_ report: ImportReport?, database: String, location: String?) async {
        guard let onImport, let report, report.applied, let version = report.version else { return }
        var facts = [
            "SNAPSYNC_VERSION": "\(version)", "SNAPSYNC_VERSION_BEFORE": report.versionBefore.map(String.init) ?? "",
            "SNAPSYNC_TABLES": report.datasets.map(\.name).joined(separator: " "),
        ]
        var input = FileHandle.nullDevice
        if let before = report.versionBefore {
            do {
                let (file, counts) = try await changes(after: before, upTo: version, database: database, location: location)
                input = file
                for kind in EntityDifference.Kind.allCases { facts["SNAPSYNC_\(kind.rawValue.uppercased())"] = "\(counts[kind] ?? 0)" }
            } catch {
                let error = SyncError(error)
                OutcomeOptions.warn("the command for imports gets no changes: \(error.place): \(error.reason)")
            }
        }
        OutcomeOptions.run(onImport, for: "imports", facts, database: database, input: input)
    }

    /// A file without a name that has the changes, and their number by kind.
    private func changes(after before: Int, upTo version: Int, database: String, location: String?) async throws -> (FileHandle, [EntityDifference.Kind: Int]) {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("snapsync-\(UUID().uuidString)").path
        guard FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]),
            let file = FileHandle(forUpdatingAtPath: path)
        else { throw SyncError(.inputOutput, at: path, "the file for the changes cannot be made") }
        try FileManager.default.removeItem(atPath: path)
        var counts: [EntityDifference.Kind: Int] = [:]
        let engine = try SyncEngine.ofCommand(database: database, location: location)
        try await engine.inspector().changes(since: before, upTo: version) { event in
            if case .change(let one) = event { counts[one.change, default: 0] += 1 }
            try file.write(contentsOf: Data((Printer.json(event) + "\n").utf8))
        }
        try file.seek(toOffset: 0)
        return (file, counts)
    }
}
