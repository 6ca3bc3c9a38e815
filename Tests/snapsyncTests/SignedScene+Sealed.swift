import Foundation
import TestSupport
import Testing

/// Scenes whose zone is sealed.
extension SignedScene {
    /// The publisher `phone` has published version 1 of a sealed zone. Returns the recovery code, too.
    static func sealedPhone(role: String = "writer", notifications: Int = 20) throws -> (scene: SignedScene, code: String) {
        let scene = try SignedScene()
        try scene.succeed("generate phone.db --notifications \(notifications) --buckets 3")
        let code = try scene.initSealed(Scene.setUp("phone.db", as: role, "--built-in --name phone --encrypt"))
        try scene.succeed("sync phone.db")
        return (scene, code)
    }

    /// The same, with a reader that was approved and has imported version 2, which approved it.
    static func sealedPhoneAndWatch() throws -> SignedScene {
        SignedScene(
            scene: try Scene.copy(of: "sealed") { scene in
                let scene = SignedScene(scene: scene)
                try scene.succeed("generate phone.db --notifications 20 --buckets 3")
                _ = try scene.initSealed("init phone.db cloud --built-in --name phone --encrypt")
                try scene.succeed("sync phone.db")
                try scene.join("watch")
                try scene.succeed("sync watch.db")
                try scene.keepCloud()
            })
    }

    /// Runs an `init` that makes a sealed zone. Returns the recovery code.
    func initSealed(_ line: String) throws -> String {
        let report = try json(line)
        return try #require((report["signature"] as? [String: Any])?["recoveryCode"] as? String)
    }

    /// Sets a device up in the sealed zone: it asks, `phone` approves, and the same command goes on.
    ///
    /// - Parameter look: gets the report of the approval.
    func join(
        _ device: String, role: String = "reader", approvedBy member: String = "phone", at location: SourceLocation = #_sourceLocation,
        look: ([String: Any]) -> Void = { _ in }
    ) throws {
        let line = Scene.join("\(device).db", as: role, "--name \(device) --trust \(try words("phone"))")
        let asked = try run(line)
        #expect(asked.status == 75, "\(asked.text) \(asked.errorText)", sourceLocation: location)
        try #expect(asked.errorText.contains(words(device)) && asked.errorText.contains("snapsync zone approve DB \(device)"), sourceLocation: location)
        #expect(!scene.scratch.exists("\(device).db"), sourceLocation: location)
        look(try json("zone approve \(member).db \(device) --yes", at: location))
        try succeed(line, at: location)
    }

    /// Runs a piece of Python with the names of Tests/Sealed/sealed.py besides.
    @discardableResult
    func unseal(_ script: String, at location: SourceLocation = #_sourceLocation) throws -> String {
        try forge("from sealed import *\n" + script, at: location)
    }

    /// The rows that the program of 60 lines reads from the zone, in the order of their ids, with a device's key file or, as input, the recovery code.
    func readIndependently(_ dataset: String, as device: String? = nil, code: String = "", zone: String = Self.zone) throws -> [[String: Any]] {
        let file = try device.map { try forge("print(key_file('\($0)'))").trimmingCharacters(in: .newlines) } ?? "-"
        let script = Repository.path("Tests/Sealed/read_zone.py")
        let run = try ToolFailure.check(runPython([script, zone, file, dataset], input: Data(code.utf8)), "read_zone.py")
        return try run.text.split(separator: "\n").map { try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] ?? [:] }
            .sorted { "\($0["id"] ?? "")" < "\($1["id"] ?? "")" }
    }

    /// Sees that some texts stand nowhere in the location: neither as they are nor in base64, hexadecimal digits or anything that can be decompressed.
    func expectNowhere(_ texts: [String], in folders: [String] = ["cloud"], at location: SourceLocation = #_sourceLocation) throws {
        let list = try String(decoding: JSONSerialization.data(withJSONObject: texts), as: UTF8.self)
        let found = try unseal(
            #"""
            import re, zlib
            needles = [t.encode() for t in json.loads(r'''\#(list)''')]
            needles += [n.hex().encode() for n in needles] + [base64.b64encode(n)[:-4] for n in needles if len(n) > 12]
            def inside(data):
                yield data
                for place in (m.start() for m in re.finditer(b'\x1f\x8b\x08', data)):
                    try: yield zlib.decompressobj(31).decompress(data[place:])
                    except zlib.error: pass
                for text in re.findall(rb'[A-Za-z0-9+/]{24,}={0,2}', data):
                    try: yield base64.b64decode(text)
                    except ValueError: pass
            for top in \#(folders):
                for folder, _, names in os.walk(top):
                    for path in (os.path.join(folder, n) for n in names):
                        for data in inside(read(path)):
                            for needle in needles:
                                if needle in data: print(path, needle[:12])
            print(len(needles))
            """#, at: location)
        #expect(found.split(separator: "\n").count == 1, "\(found)", sourceLocation: location)
    }
}
