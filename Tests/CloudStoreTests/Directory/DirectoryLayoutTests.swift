import CloudStore
import Foundation
import StrictText
import TestSupport
import Testing

/// What lies on disk is what docs/cloud-directory.md says; a program that shares no code with this one agrees.
@Suite struct DirectoryLayoutTests {
    private let zone = DirectoryUnderTest.zonePath

    @Test func theTreeIsTheDocumentedOne() async throws {
        let test = try DirectoryUnderTest()
        try await test.zone()
        let asset = try await test.asset([1, 2, 3], index: Array("{}".utf8)), change = try await test.asset([4], kind: .changes)
        try await test.save(asset)
        try await test.cloud.report(DeviceReport(device: "phone", role: "reader", token: nil, clock: .now), in: .standard)
        let stem = String(asset.path.dropLast(".json.gz".count))
        #expect(change.path.hasSuffix(".changes.json.gz"))
        let expected = [
            "cloud.json", "private", zone, "\(zone)/assets", "\(zone)/assets/item", "\(zone)/\(asset.path)", "\(zone)/\(stem).index.json",
            "\(zone)/\(change.path)", "\(zone)/checkpoints", "\(zone)/commits", "\(zone)/commits/00000000000000000001.json", "\(zone)/devices",
            "\(zone)/devices/phone", "\(zone)/devices/phone/00000000000000000001.json", "\(zone)/messages", "\(zone)/zone.json",
        ]
        #expect(try test.scratch.tree() == expected.sorted())
        for path in try test.scratch.tree() {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(test.scratch.path)/\(path)")
            let isDirectory = attributes[.type] as? FileAttributeType == .typeDirectory
            #expect(attributes[.posixPermissions] as? Int == (isDirectory ? 0o700 : 0o600), "\(path)")
        }
        let marker = String(decoding: try test.scratch.bytes("\(zone)/zone.json"), as: UTF8.self)
        #expect(marker == #"{"creator":"writer","features":[],"formatVersion":1,"publishers":"one"}"#)
    }

    @Test func anIndependentReaderFollowsTheChain() async throws {
        let test = try DirectoryUnderTest()
        try await test.zone()
        let asset = try await test.asset(Array("hello".utf8), index: Array("[]".utf8))
        var token = try await test.save(asset)
        for number in 2...20 { token = try await test.save(number, record: "item\(number % 5)", after: token) }
        let script = """
            import hashlib, json, os, sys
            root, zone = sys.argv[1], os.path.join(sys.argv[1], 'private', 'ZentikSyncZone')
            sha = lambda data: hashlib.sha256(data).hexdigest()
            def sealed(path, name):
                raw = open(path, 'rb').read()
                head = ('{"%s":' % name).encode()
                assert raw.startswith(head) and json.loads(raw)['sha256'] == sha(raw[len(head):-77]), path
                return raw, json.loads(raw)[name]
            cloud = json.load(open(os.path.join(root, 'cloud.json')))
            parent, time, live = None, '', {}
            for number in range(1, 21):
                raw, commit = sealed(os.path.join(zone, 'commits', '%020d.json' % number), 'commit')
                assert commit['number'] == number and commit.get('parent') == parent and commit['timestamp'] > time
                assert commit['cloud'] == cloud['uuid'] and commit['zone'] == 'private/ZentikSyncZone'
                assert 'messages' not in commit and commit['approvals'] == [] and commit['device'] == 'writer'
                if number > 16:
                    assert commit['checkpoint']['number'] == 16
                    assert commit['checkpoint']['sha256'] == sha(open(os.path.join(zone, 'checkpoints', '%020d.json' % 16), 'rb').read())
                else: assert 'checkpoint' not in commit
                for record in commit['saved']:
                    assert sorted(record) == ['fields', 'name', 'type']
                    event = {'at': commit['timestamp'], 'by': commit['device']}
                    created = live.get(record['name'], {'created': event})['created']
                    live[record['name']] = dict(record, changeTag=str(number), created=created, modified=event)
                parent, time = sha(raw), commit['timestamp']
                if number == 16:
                    _, checkpoint = sealed(os.path.join(zone, 'checkpoints', '%020d.json' % 16), 'checkpoint')
                    assert checkpoint['records'] == [live[name] for name in sorted(live)] and checkpoint['commit'] == parent
                    assert checkpoint['timestamp'] == time and checkpoint['number'] == 16
            asset = live['item']['fields']['dataFile']
            assert asset['type'] == 'asset'
            data = open(os.path.join(zone, asset['value']['path']), 'rb').read()
            assert data == b'hello' and sha(data) == asset['value']['sha256'] and len(data) == asset['value']['size'] == 5
            index = open(os.path.join(zone, asset['value']['path'][:-8] + '.index.json'), 'rb').read()
            assert sha(index) == asset['value']['index']['sha256'] and asset['value']['rawSize'] == 15
            print(parent)
            """
        #expect(try run("python3", ["-c", script, test.scratch.path]) == token.hash)
    }

    private func run(_ program: String, _ arguments: [String]) throws -> String {
        let run = try ProgramRun(program, arguments)
        #expect(run.status == 0)
        return run.text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
