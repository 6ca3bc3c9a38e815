import ArgumentParser
import CommandSupport
import Foundation
import SnapshotSync
import StrictText

/// `snapsync demo`: shows the main use, step by step, with sample data.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Show the main job: a writer and a reader in a temporary folder, step by step.",
        discussion: """
            Run each step and print its command and output.

            EXAMPLES
              snapsync demo
              snapsync demo --directory /tmp/snapsync-demo
            """)

    @Option(
        name: .long, help: ArgumentHelp("Work in this new folder and keep it. Default: a temporary folder that is removed at the end.", valueName: "dir"),
        completion: .directory)
    var directory: String?

    func run() async throws {
        try await Printer(isJSON: false).run {
            let folder = URL(fileURLWithPath: directory ?? NSTemporaryDirectory() + "snapsync-demo-\(getpid())")
            do {
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            } catch {
                throw SyncError(
                    .refused, step: .open, at: folder.path, "the directory cannot be made",
                    hint: "name one that does not exist yet, in a folder that can be written")
            }
            defer { if directory == nil { try? FileManager.default.removeItem(at: folder) } }
            try await DemoSession(folder: folder).run()
            try StandardStream.output.write(
                directory == nil
                    ? "\nThe directory is removed now; keep one with: snapsync demo --directory DIR\n" : "\nEverything is still in \(folder.path)\n")
        }
    }
}

/// The steps of the demo. Each runs in a process of its own.
private struct DemoSession {
    let folder: URL

    func run() async throws {
        let phone = folder.appendingPathComponent("phone.db").path
        try title("A phone has 150 notifications in a SQLite database, and a directory that it shares.")
        _ = try await SampleFiller.fill(database: phone, notifications: 150, buckets: 8, seed: 1)
        try snapsync("init phone.db cloud --built-in --name phone")

        try title("It publishes them: both datasets, one version.")
        try snapsync("export phone.db")
        try shell("find cloud -type f | sort")

        try title("An asset is JSON that anything can read.")
        try shell("zcat cloud/private/ZentikSyncZone/assets/notifications_data/*-*.json.gz | head -c 420; echo …")

        try title("A watch has an empty database and sees the same directory.")
        try snapsync("join watch.db cloud --name watch")
        try snapsync("import watch.db")

        try title("Three notifications are read on the phone; both devices sync.")
        _ = try await SampleFiller.markRead(database: phone, count: 3, seed: 2)
        try snapsync("sync phone.db")
        try snapsync("sync watch.db")
        try snapsync("sync watch.db")

        try title("What is where, and whether all of it is sound.")
        try snapsync("log watch.db")
        try snapsync("status watch.db")
        try snapsync("check watch.db --all-versions --local")
    }

    private func title(_ text: String) throws { try StandardStream.output.write("\n\(text)\n") }

    private func snapsync(_ arguments: String) throws {
        try start("snapsync \(arguments)", program: "/proc/self/exe", arguments: arguments.exact.split(separator: " "))
    }

    private func shell(_ command: String) throws {
        try start(command, program: "/bin/sh", arguments: ["-c", command])
    }

    private func start(_ shown: String, program: String, arguments: [String]) throws {
        try StandardStream.output.write("\n$ \(shown)\n")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program).resolvingSymlinksInPath()
        process.arguments = arguments
        process.currentDirectoryURL = folder
        var environment = ProcessInfo.processInfo.environment
        // The demo must not use the user's own database or cloud.
        for name in ["SNAPSYNC_DB", "SNAPSYNC_LOCATION"] { environment[name] = nil }
        process.environment = environment
        do {
            try process.run()
        } catch {
            throw SyncError(.inputOutput, at: program, "it cannot be started")
        }
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw SyncError(.inputOutput, at: shown, "it ended with code \(process.terminationStatus)")
        }
    }
}
