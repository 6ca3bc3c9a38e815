import Foundation
import Synchronization
import TestSupport
import Testing

/// A scene whose devices keep their keys beneath it, in `keys`, and scripts that hold keys of their own and sign with them.
struct SignedScene {
    let scene: Scene
    var environment: [String: String] { ["XDG_DATA_HOME": scene.scratch.path("keys")] }

    static let zone = Scene.zone

    init(scene: Scene) { self.scene = scene }

    init() throws { scene = try Scene() }

    /// The writer `phone` has published version 1 of a signed zone, the reader `watch` has imported it, and version 2 waits for it.
    ///
    /// The cloud as it is then lies in `good`, too.
    static func phoneAndWatch() throws -> SignedScene {
        SignedScene(
            scene: try Scene.copy(of: "signed") { scene in
                let scene = SignedScene(scene: scene)
                try scene.succeed("generate phone.db --notifications 20 --buckets 3")
                try scene.succeed("init phone.db cloud --built-in --name phone --sign")
                try scene.succeed("sync phone.db")
                try scene.succeed("join watch.db cloud --name watch --trust \(scene.words("phone"))")
                for line in ["sync watch.db", "generate phone.db --mark-read 3", "sync phone.db"] { try scene.succeed(line) }
                try scene.keepCloud()
            })
    }

    /// Runs the command with the words of a line.
    func run(_ line: String) throws -> ProgramRun { try scene.run(line, environment: environment) }

    @discardableResult
    func succeed(_ line: String, at location: SourceLocation = #_sourceLocation) throws -> String {
        try scene.succeed(line, environment: environment, at: location)
    }

    func json(_ line: String, at location: SourceLocation = #_sourceLocation) throws -> [String: Any] {
        let text = try succeed(line + " --json", at: location)
        return try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any], sourceLocation: location)
    }

    /// Runs a command that must be refused and change nothing.
    func refuse(
        _ line: String, exit code: Int32, saying fragments: [String], watching databases: [String] = [], at location: SourceLocation = #_sourceLocation
    ) throws {
        try scene.refuse(line, exit: code, saying: fragments, environment: environment, watching: databases, at: location)
    }

    /// The eight words of a device.
    func words(_ device: String) throws -> String {
        let keys = scene.scratch.path("keys/snapsync/keys")
        let file = try FileManager.default.subpathsOfDirectory(atPath: keys).first { $0.hasSuffix("/\(device).json") }
        let content = try Data(contentsOf: URL(fileURLWithPath: "\(keys)/\(#require(file))"))
        if let known = Self.known.withLock({ $0[content] }) { return known }
        let words = try forge("print(keys_of('\(device)').words, end='')")
        Self.known.withLock { $0[content] = words }
        return words
    }

    /// The words of each key file that was asked for.
    private static let known = Mutex<[Data: String]>([:])

    /// Runs a piece of Python with the names of Tests/Signatures/forge.py, in the scene. Returns what it prints.
    @discardableResult
    func forge(_ script: String, at location: SourceLocation = #_sourceLocation) throws -> String {
        try ToolFailure.check(runPython(["-c", "from forge import *\n" + script]), "the forgery").text
    }

    /// Runs the Python that has PyPI's cryptography and the modules of Tests/Signatures and Tests/Sealed, in the scene.
    func runPython(_ arguments: [String], input: Data = Data()) throws -> ProgramRun {
        let modules = "\(Self.tests)/Signatures:\(Self.tests)/Sealed"
        return try ProgramRun(
            #require(Self.python), ["-B"] + arguments, in: scene.scratch.path, environment: ["PYTHONPATH": modules], input: input)
    }

    /// Checks the zone with the independent program. Returns what it prints.
    func verifyIndependently(_ words: String = "", zone: String = Self.zone) throws -> ProgramRun {
        try runPython(["\(Self.tests)/Signatures/verify_zone.py", zone] + (words.isEmpty ? [] : [words]))
    }

    /// Makes the cloud as it is the one that ``attack(exit:saying:reader:independently:at:forge:)`` puts back.
    func keepCloud() throws {
        try? FileManager.default.removeItem(atPath: scene.scratch.path("good"))
        try scene.scratch.copy(scene.scratch.path("cloud"), to: "good")
    }

    func restoreCloud() throws {
        try FileManager.default.removeItem(atPath: scene.scratch.path("cloud"))
        try scene.scratch.copy(scene.scratch.path("good"), to: "cloud")
    }

    /// Puts the good cloud back, runs a forgery, and sees that a reader refuses what it finds and keeps its data.
    ///
    /// - Parameter independently: whether the independent program must refuse it, too.
    func attack(
        _ forgery: String, exit code: Int32 = 65, saying fragments: [String], reader: String = "watch", independently: Bool = true,
        at location: SourceLocation = #_sourceLocation
    ) throws {
        try restoreCloud()
        try forge(forgery)
        try refuse("sync \(reader).db", exit: code, saying: fragments, watching: ["\(reader).db"], at: location)
        guard independently else { return }
        let status = try verifyIndependently(words("phone")).status
        #expect(status == 65, "the independent program takes it", sourceLocation: location)
    }

    /// Whether the scripts can run here: PyPI's cryptography is there, or must be.
    static let isAvailable = python != nil || ProcessInfo.processInfo.environment["CI"] == "true"

    /// The interpreter that has PyPI's cryptography; nil where that cannot be installed.
    private static let python: String? = {
        let run = try? ProgramRun("python3", ["\(tests)/Signatures/interpreter.py"])
        if run?.status != 0 { print("tests of signed zones cannot run: \(run?.errorText ?? "there is no python3")") }
        return run?.status == 0 ? run?.text : nil
    }()

    private static let tests = Repository.path("Tests")
}
