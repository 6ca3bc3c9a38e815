import Foundation
import TestSupport
import Testing

/// A cloud whose version 2 can be spoilt again and again, and a reader that has version 1 and must stay as it is.
struct DamagedCloud {
    let scene: Scene
    /// The newest commit, relative to the scene, and as an absolute path.
    let commit: String
    var commitPath: String { scene.scratch.path(commit) }
    /// The newest asset of the notifications and its index.
    let asset: String
    var index: String { asset.replacingOccurrences(of: ".json.gz", with: ".index.json") }

    init(notifications: Int = 20) throws {
        scene = try Scene.copy(of: "a good cloud \(notifications)", from: .phoneAndWatch(notifications: notifications, buckets: 3)) { scene in
            try scene.markRead(3)
            try scene.succeed("export phone.db")
            try scene.scratch.copy(scene.scratch.path("cloud"), to: "good")
        }
        commit = try scene.newest("commits")
        asset = try scene.asset("notifications")
    }

    /// Puts the good cloud back, spoils it, and sees that the reader refuses it.
    ///
    /// - Parameters:
    ///   - importRefuses: false where the import reads only what is still good, or checks less than `check` does.
    ///   - verifies: whether `check --read-data` of the cloud alone must find it, too, with 65.
    func refuse(
        exit code: Int32 = 65, saying fragments: [String], importRefuses: Bool = true, verifies: Bool = true,
        at location: SourceLocation = #_sourceLocation, spoil: (ScratchDirectory) throws -> Void
    ) throws {
        try FileManager.default.removeItem(atPath: scene.scratch.path("cloud"))
        try scene.scratch.copy(scene.scratch.path("good"), to: "cloud")
        try spoil(scene.scratch)
        // A file that is too short and young would count as still arriving.
        for file in [commit, asset, index] where scene.scratch.isPlainFile(file) { try scene.scratch.age(file, minutes: 60) }
        if importRefuses { try scene.refuse("import watch.db", exit: code, saying: fragments, watching: ["watch.db"], at: location) }
        guard verifies else { return }
        let run = try scene.run("check cloud --read-data --zone ZentikSyncZone")
        #expect(run.status == 65, "check: \(run.text) \(run.errorText)", sourceLocation: location)
        #expect(
            (run.text + run.errorText).contains(fragments[importRefuses ? 0 : fragments.count - 1]), "check: \(run.text) \(run.errorText)",
            sourceLocation: location)
    }

    /// The folder of the newest asset.
    var folder: String { URL(fileURLWithPath: asset).deletingLastPathComponent().relativePath }
    /// The name of the newest asset, for messages.
    var name: String { URL(fileURLWithPath: asset).lastPathComponent }
}

extension ScratchDirectory {
    /// Changes a file's bytes in place, an hour ago: a beginning of a file that is young would count as still arriving.
    func edit(_ name: String, _ change: (inout Data) throws -> Void) throws {
        var data = try read(name)
        try change(&data)
        try write(data, to: name)
        try age(name, minutes: 60)
    }

    /// Whether a name is a plain file's, and not a link's.
    func isPlainFile(_ name: String) -> Bool {
        (try? FileManager.default.attributesOfItem(atPath: path(name)))?[.type] as? FileAttributeType == .typeRegular
    }

    /// Gives a file a time so long ago.
    func age(_ name: String, minutes: Double) throws { try FileManager.default.setModification(secondsAgo: 60 * minutes, ofItemAtPath: path(name)) }
}
