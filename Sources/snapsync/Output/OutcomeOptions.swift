import ArgumentParser
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
            After a failure, even one that passes by itself (75), run this command with /bin/sh -c for at most 60 seconds. It gets \
            SNAPSYNC_EXIT_CODE, SNAPSYNC_ERROR (one line without row values) and SNAPSYNC_DATABASE. Its output goes to standard error.
            """,
            valueName: "command"))
    var onFailure: String?

    func validate() throws {
        guard heartbeat.map({ Heartbeat($0) != nil }) ?? true else { throw ValidationError("--heartbeat requires an http:// or https:// URL.") }
        guard onFailure != "" else { throw ValidationError("--on-failure requires a command.") }
    }

    /// Whether any action is requested.
    var isGiven: Bool { heartbeat != nil || onFailure != nil }

    /// Sends the heartbeat after a successful sync. If it fails, a warning is printed.
    func succeeded() {
        guard let beat = heartbeat.flatMap(Heartbeat.init), let problem = beat.send() else { return }
        warn(problem)
    }

    /// Runs the command for a failure and waits for it, up to its time limit. Its output goes to standard error.
    ///
    /// - Parameter database: the path; nil if the command has no database.
    func failed(_ error: SyncError, database: String?) {
        guard let onFailure else { return }
        let process = Process(), ended = DispatchSemaphore(value: 0)
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", onFailure]
        let step = error.step.map { "\($0.rawValue) failed: " } ?? ""
        process.environment = ProcessInfo.processInfo.environment.merging([
            "SNAPSYNC_EXIT_CODE": "\(error.code.exitStatus)", "SNAPSYNC_ERROR": VisibleText.escape("\(step)\(error.place): \(error.reason)"),
            "SNAPSYNC_DATABASE": database.map { URL(fileURLWithPath: $0).standardizedFileURL.path } ?? "",
        ]) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.standardError
        process.terminationHandler = { _ in ended.signal() }
        do { try process.run() } catch { return warn("the command for failures could not be started") }
        guard ended.wait(timeout: .now() + Self.commandTime) == .success else {
            Self.end(process, ended)
            return warn("the command for failures took more than \(Int(Self.commandTime)) seconds and was ended")
        }
        if process.terminationStatus != 0 || process.terminationReason != .exit {
            warn("the command for failures ended with \(process.terminationReason == .exit ? "" : "signal ")\(process.terminationStatus)")
        }
    }

    /// The time limit of a command for failures, and how long it may take to end after SIGTERM, in seconds.
    private static let commandTime = 60.0, endTime = 5.0

    /// Ends a command and all processes that it started. Foundation gives each process a group of its own.
    private static func end(_ process: Process, _ ended: DispatchSemaphore) {
        kill(-process.processIdentifier, SIGTERM)
        // The shell may end before what it started; the group exists as long as one process of it does.
        let isEnded = ended.wait(timeout: .now() + endTime) == .success
        kill(-process.processIdentifier, SIGKILL)
        if !isEnded { ended.wait() }
    }

    private func warn(_ text: String) { try? StandardStream.remark("warning", text) }
}
