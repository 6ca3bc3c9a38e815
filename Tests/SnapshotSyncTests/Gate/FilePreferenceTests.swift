import Foundation
import SnapshotSync
import TestSupport
import Testing

/// One key of an application's settings file, and not a byte of anything else.
@Suite struct FilePreferenceTests {
    /// A file before, and after `true` was stored under `sync`.
    @Test(arguments: [
        (#"{"sync":false}"#, #"{"sync":true}"#),
        (#"{ "sync" : null }"#, #"{ "sync" : true }"#),
        (#"{}"#, #"{"sync":true}"#),
        (
            "{\n  \"theme\": \"dark\",\n  \"scale\": 1.50,\n  \"id\": 12345678901234567890\n}\n",
            "{\n  \"sync\":true,\"theme\": \"dark\",\n  \"scale\": 1.50,\n  \"id\": 12345678901234567890\n}\n"
        ),
        (
            #"{"a":{"sync":false},"b":["sync",{}],"s\u0079nc":false,"z":"\ud83d\ude00 }"}"#,
            #"{"a":{"sync":false},"b":["sync",{}],"s\u0079nc":true,"z":"\ud83d\ude00 }"}"#
        ),
    ])
    func onlyTheValueChanges(before: String, after: String) throws {
        let scratch = try ScratchDirectory()
        try scratch.write(before, to: "settings.json")
        let preference = FilePreference(path: scratch.path("settings.json"), key: "sync")
        try preference.store(true)
        #expect(String(decoding: try scratch.read("settings.json"), as: UTF8.self) == after)
        #expect(try preference.load()?.isOn == true)
        #expect(try Python.run("import json, sys; print(json.load(open(sys.argv[1]))['sync'])", [scratch.path("settings.json")]) == "True\n")
        try preference.store(false)
        #expect(try preference.load()?.isOn == false)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == ["settings.json"])
    }

    @Test func keysThatNeedEscapesAreFoundAgain() throws {
        let scratch = try ScratchDirectory()
        let preference = FilePreference(path: scratch.path("settings.json"), key: "a \"quoted\" \u{1F600} key")
        #expect(try preference.load() == nil)
        try preference.store(true)
        #expect(try preference.load() == BoundPreference(isOn: true))
        try preference.store(false)
        #expect(try preference.load() == BoundPreference(isOn: false))
    }

    @Test func modeAndLinksStay() throws {
        let scratch = try ScratchDirectory()
        try scratch.write("{\"sync\":false}", to: "real.json")
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: scratch.path("real.json"))
        try FileManager.default.createSymbolicLink(atPath: scratch.path("link.json"), withDestinationPath: "real.json")
        try FilePreference(path: scratch.path("link.json"), key: "sync").store(true)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: scratch.path("link.json")) == "real.json")
        #expect(String(decoding: try scratch.read("real.json"), as: UTF8.self) == "{\"sync\":true}")
        #expect(try FileManager.default.attributesOfItem(atPath: scratch.path("real.json"))[.posixPermissions] as? Int == 0o640)
    }

    @Test(arguments: [
        "", "[]", "true", "{\"sync\":1}", "{\"sync\":\"on\"}", "{\"sync\":true,}", "{\"sync\":true,\"sync\":false}", "{\"sync\":true} x", "\u{FEFF}{}",
    ])
    func whatIsNotUnderstoodIsRefusedAndLeft(text: String) throws {
        let scratch = try ScratchDirectory()
        try scratch.write(text, to: "settings.json")
        let preference = FilePreference(path: scratch.path("settings.json"), key: "sync")
        #expect { try preference.load() } throws: { ($0 as? SyncError)?.code == .dataRefused }
        #expect(throws: SyncError.self) { try preference.store(true) }
        #expect(String(decoding: try scratch.read("settings.json"), as: UTF8.self) == text)
    }

    @Test func leftoversOfKilledRunsAreRemovedAndNothingElse() throws {
        let scratch = try ScratchDirectory()
        let others = ["settings.json.snapsync-mine", "settings.json.bak", "other.json.snapsync-1", "settings.json.snapsync-2"]
        for name in ["settings.json.snapsync-1"] + others { try scratch.write("{}", to: name) }
        for name in ["settings.json.snapsync-1"] + others.dropLast() {
            try FileManager.default.setModification(secondsAgo: 3600, ofItemAtPath: scratch.path(name))
        }
        try FilePreference(path: scratch.path("settings.json"), key: "sync").store(true)
        #expect(Set(try FileManager.default.contentsOfDirectory(atPath: scratch.path)) == Set(others + ["settings.json"]))
    }

    @Test func folderThatIsMissingIsAnErrorAndNotMade() throws {
        let scratch = try ScratchDirectory()
        #expect(throws: SyncError.self) { try FilePreference(path: scratch.path("none/settings.json"), key: "sync").store(true) }
        #expect(!scratch.exists("none"))
    }
}
