import Foundation
import TestSupport
import Testing

/// Mounts whose `link(2)` fails, as the built command meets them: some answer EIO, SMB answers EACCES for a share on FAT.
@Suite(.runsPrograms, .enabled(if: TracedRun.isPossible, "strace is not installed, or may not trace here")) struct LinklessMountTests {
    private func run(_ line: String, failing calls: String, with error: String, _ scene: Scene) throws -> ProgramRun {
        try TracedRun.injecting("error=\(error)", at: calls, line.split(separator: " ").map(String.init), in: scene.scratch.path)
    }

    @Test(arguments: ["EIO", "EACCES"]) func filesArePutInPlaceByRenaming(error: String) throws {
        let scene = try Scene()
        try scene.succeed("generate phone.db --notifications 5 --buckets 2")
        for line in [
            "init phone.db cloud --built-in --name phone", "export phone.db",
            "join watch.db cloud --name watch", "sync watch.db",
        ] {
            let run = try run(line, failing: "linkat", with: error, scene)
            #expect(run.status == 0, "\(line): \(run.errorText)")
        }
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
        let doctor = try run("check phone.db", failing: "linkat", with: error, scene)
        #expect(
            doctor.text.contains("the file system has renaming without replacing, and lacks files without a name, hard links"),
            "\(doctor.text)\(doctor.errorText)")
        #expect(try scene.cloudListing().entries.keys.filter { $0.contains(".snapsync-") } == [])
        try scene.succeed("check cloud --all-versions")
    }

    /// `init` says how each way failed, and leaves neither a folder nor a database.
    @Test(arguments: [("EIO", Int32(74), "rename without replacing: Input/output error"), ("EACCES", 77, "rename: Permission denied")])
    func initIsRefusedWhereRenamingFailsToo(error: String, status: Int32, reason: String) throws {
        let scene = try Scene()
        let run = try run("init phone.db cloud --built-in", failing: "linkat,renameat2", with: error, scene)
        #expect(run.status == status && run.errorText.contains(reason), "\(run.status) \(run.errorText)")
        #expect(try FileListing(of: scene.scratch.path).entries.keys.sorted() == ["."])
    }
}
