import Foundation
import TestSupport
import Testing

/// What has to be on the disk before the next thing happens is there: told by the system calls of the built command.
@Suite(.runsPrograms, .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/strace"), "strace tells the system calls"))
struct DurabilityOrderTests {
    /// The calls of a run that make something durable or give or take a name, one a line, with the paths of their descriptors.
    private func calls(_ line: String, in scene: Scene) throws -> [String] {
        let run = try ProgramRun(
            "strace",
            ["-f", "-qq", "-y", "-s", "300", "-e", "trace=fsync,fdatasync,linkat,unlink,unlinkat", "-e", "signal=none", "-o", "calls.txt", BuiltCommand.path()]
                + line.split(separator: " ").map(String.init),
            in: scene.scratch.path)
        try #require(run.status == 0, "\(run.errorText)")
        // A call that another thread interrupted is told in two lines; the first has the arguments.
        return String(decoding: try scene.scratch.read("calls.txt"), as: UTF8.self).split(separator: "\n").map(String.init).filter { !$0.contains(" resumed>") }
    }

    /// The note of which commit is about to come is durable before the commit has its name: also where a journal's removal is what
    /// makes a transaction final, for that is a name in the database's own folder.
    @Test(arguments: ["wal", "delete", "truncate", "persist"]) func theIntentIsDurableBeforeTheCommit(mode: String) throws {
        let scene = try Scene()
        try scene.succeed("generate phone.db --notifications 20 --buckets 2")
        try scene.database("phone.db").run("PRAGMA journal_mode = \(mode)")
        try scene.succeed("init phone.db cloud --built-in --name phone")
        try scene.succeed("export phone.db")
        try scene.database("phone.db").run("UPDATE buckets SET name = 'new'")
        let calls = try calls("export phone.db", in: scene)
        let commit = try #require(calls.firstIndex { $0.contains("linkat(") && $0.contains("00000000000000000002.json\"") }, "\(calls)")
        let asset = try #require(calls[..<commit].lastIndex { $0.contains("fsync(") && $0.contains("/assets/") })
        let folder = URL(fileURLWithPath: scene.scratch.path).resolvingSymlinksInPath().path
        let between = calls[asset..<commit]
        switch mode {
        case "wal": #expect(between.contains { $0.contains("sync(") && $0.contains("phone.db-wal>") }, "\(between)")
        case "delete":
            let removal = try #require(between.lastIndex { $0.contains("unlink") && $0.contains("phone.db-journal") }, "\(between)")
            #expect(between[removal...].contains { $0.contains("sync(") && $0.contains("<\(folder)>") }, "\(between[removal...])")
        default:
            #expect(
                between.contains { $0.contains("sync(") && $0.contains("phone.db-journal>") }
                    && between.contains { $0.contains("sync(") && $0.contains("phone.db>") }, "\(between)")
        }
        // And the commit's name is durable before the run says so.
        #expect(calls[commit...].contains { $0.contains("fsync(") && $0.contains("/commits>") })
    }
}
