import ArgumentParser
import Foundation
import SnapshotSync
import StrictText

/// What happens after a sync: a request to a monitor when it went well, a command when it failed.
struct OutcomeOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "After a success: send an HTTP GET there, for at most 10 seconds. If that fails, it is a warning. Only the host is ever printed.",
            valueName: "url"))
    var heartbeat: String?
    @Option(
        name: .long,
        help: ArgumentHelp(
            "After a failure: run this with /bin/sh. It gets SNAPSYNC_EXIT_CODE, SNAPSYNC_ERROR and SNAPSYNC_DATABASE in its environment.",
            valueName: "command"))
    var onFailure: String?

    func validate() throws {
        guard heartbeat.map({ Heartbeat($0) != nil }) ?? true else { throw ValidationError("--heartbeat takes an http:// or https:// URL.") }
        guard onFailure != "" else { throw ValidationError("--on-failure takes a command.") }
    }

    /// Whether anything is to be done.
    var isGiven: Bool { heartbeat != nil || onFailure != nil }

    /// Tells the monitor that a sync ended well. That the monitor does not answer is a warning.
    func succeeded() {
        guard let beat = heartbeat.flatMap(Heartbeat.init), let problem = beat.send() else { return }
        warn(problem)
    }

    /// Runs the command for a failure, and waits for its end. What it prints goes to standard error.
    func failed(_ error: SyncError, database: String) {
        guard let onFailure else { return }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", onFailure]
        let step = error.step.map { "\($0.rawValue) failed: " } ?? ""
        process.environment = ProcessInfo.processInfo.environment.merging([
            "SNAPSYNC_EXIT_CODE": "\(error.exitStatus)", "SNAPSYNC_ERROR": VisibleText.escape("\(step)\(error.place): \(error.reason)"),
            "SNAPSYNC_DATABASE": URL(fileURLWithPath: database).standardizedFileURL.path,
        ]) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.standardError
        do {
            try process.run()
            process.waitUntilExit()
            if process.terminationStatus != 0 || process.terminationReason != .exit {
                warn("the command for failures ended with \(process.terminationReason == .exit ? "" : "signal ")\(process.terminationStatus)")
            }
        } catch { warn("the command for failures could not be started") }
    }

    private func warn(_ text: String) { try? StandardStream.error.write(VisibleText.escape("snapsync: warning: \(text)") + "\n") }
}
