import Foundation
import TestSupport
import Testing

/// Commits, indexes and blocks that lie though every checksum fits: made by a hostile or broken program, not by a bad disk.
@Suite(.runsPrograms) struct ForgedCloudTests {
    private static let asset = "commit['saved'][0]['fields']['dataFile']['value']"

    @Test func pathsInACommitStayInTheirPlace() throws {
        let cloud = try DamagedCloud()
        for path in [
            "../../../../../../../../etc/passwd", "assets/buckets_data/00000000000000000001-0123abcd.json.gz", "\u{1B}]0;owned\u{07}",
        ] {
            try cloud.refuse(saying: [
                "commits/00000000000000000002.json", "record notifications_data names an asset at a path that is not one of its own", "snapsync check",
            ]) { _ in
                try CloudForgery.rewriteCommit(cloud.commitPath, "\(Self.asset)['path'] = \(Self.python(path))")
            }
        }
    }

    @Test func impossibleCommitsAreRefused() throws {
        let cloud = try DamagedCloud()
        for (edit, says) in [
            ("commit['saved'][0]['name'] = 'a\\x1b[2J'", "a record's name is not allowed"),
            ("commit['answered'] = {'../watch': 5}", "the numbers of decided edits are not possible"),
            ("\(Self.asset)['size'] = (1 << 63) - 1", "an impossible size or hash"),
        ] as [(String, String)] {
            try cloud.refuse(saying: ["commits/00000000000000000002.json", says]) { _ in try CloudForgery.rewriteCommit(cloud.commitPath, edit) }
        }
        try cloud.refuse(exit: 78, saying: ["commits/00000000000000000002.json", "needs what this version does not know", "update snapsync"], verifies: false) {
            _ in
            try CloudForgery.rewriteCommit(cloud.commitPath, "commit['requires'] = ['tensors']")
        }
    }

    @Test func recordsThatDoNotFitTheirAssetAreRefused() throws {
        let cloud = try DamagedCloud()
        for (edit, says) in [
            ("commit['saved'][0]['fields']['recordCount']['value'] = 21", "the block index does not fit the record and the file"),
            ("\(Self.asset)['rawSize'] += 1", "the block index does not fit the record and the file"),
            ("del \(Self.asset)['index']", "the asset has no block index"),
        ] as [(String, String)] {
            try cloud.refuse(saying: ["notifications", says]) { _ in try CloudForgery.rewriteCommit(cloud.commitPath, edit) }
        }
        try cloud.refuse(saying: ["notifications", "does not match the hash in its commit"], importRefuses: false) { _ in
            try CloudForgery.rewriteCommit(cloud.commitPath, "\(Self.asset)['sha256'] = '0' * 64")
        }
        try cloud.refuse(saying: ["notifications", "its change assets do not follow one another"]) { _ in
            try CloudForgery.rewriteCommit(
                cloud.commitPath, "commit['saved'][0]['fields']['changeFiles'] = {'type': 'list', 'value': [commit['saved'][0]['fields']['dataFile']]}")
        }
        try cloud.refuse(exit: 78, saying: ["notifications_data", "its type is Other, the dataset file says NotificationsData"], verifies: false) { _ in
            try CloudForgery.rewriteCommit(cloud.commitPath, "commit['saved'][0]['type'] = 'Other'")
        }
    }

    @Test func indexesThatLieAreRefused() throws {
        let cloud = try DamagedCloud()
        try cloud.refuse(exit: 78, saying: ["block index of notifications@2", "format version 3", "update this program"], verifies: false) { _ in
            try CloudForgery.rewriteIndex(
                ofCommit: cloud.commitPath, record: "notifications_data", "index = index.replace('\"formatVersion\":1', '\"formatVersion\":3')")
        }
        for (edit, says) in [
            ("index = index.replace('\"dataset\":\"notifications\"', '\"dataset\":\"buckets\"')", "does not fit the record"),
            ("index = index.replace('\"count\":20', '\"count\":21').replace('\"recordCount\":20', '\"recordCount\":21')", "does not fit the record"),
            ("index = re.sub('\"firstKey\":\"[^\"]*\"', '\"firstKey\":\"0\"', index)", "its first key is not the one in the index"),
            ("index = re.sub('(\"rawSha256\":\")[0-9a-f]{64}', lambda m: m[1] + '0' * 64, index)", "hash"),
            ("index = index.replace('\"type\":\"json\"', '\"type\":\"text\"')", "column attachments"),
            ("index = '[' * 100000", "block index"),
        ] as [(String, String)] {
            let refusesOnlyInVerify = edit.contains("rawSha256") || edit.contains("\"text\"")
            try cloud.refuse(saying: ["notifications", says], importRefuses: !refusesOnlyInVerify) { _ in
                try CloudForgery.rewriteIndex(ofCommit: cloud.commitPath, record: "notifications_data", edit)
            }
        }
    }

    @Test func blocksThatLieAreRefused() throws {
        let cloud = try DamagedCloud()
        // The forger itself makes an asset that is taken, so that each refusal below is about the lie.
        try CloudForgery.rewriteBlocks(
            ofCommit: cloud.commitPath, record: "notifications_data", "blocks[0] = blocks[0].replace(b'\"title\":\"', b'\"title\":\"Forged ', 1)")
        try cloud.scene.succeed("check cloud --read-data")
        for (edit, says) in [
            ("blocks[0] = b',\\n'.join(reversed(blocks[0].split(b',\\n')))", "does not come after"),
            ("blocks[0] = b',\\n'.join(blocks[0].split(b',\\n')[:-1])", "it holds 19 entities, and the index says 20"),
            // Declares little, holds much: the buffer ends where the declaration does.
            ("raw_lengths[0] = len(blocks[0]); blocks[0] += b' ' * 30_000_000", "it holds more than the declared"),
            // Declares more than any block may hold.
            ("raw_lengths[0] = 10 ** 10", "block"),
        ] as [(String, String)] {
            try cloud.refuse(saying: ["notifications", says]) { _ in
                try CloudForgery.rewriteBlocks(ofCommit: cloud.commitPath, record: "notifications_data", edit)
            }
        }
    }

    @Test func brokenChainsAreRefused() throws {
        let cloud = try DamagedCloud()
        let scene = cloud.scene
        let second = scene.scratch.path(cloud.commit)
        // A third version, so that the second can be missing or another one.
        try scene.markRead(3, from: 9)
        try scene.succeed("export phone.db")
        try FileManager.default.removeItem(atPath: scene.scratch.path("good"))
        try scene.scratch.copy(scene.scratch.path("cloud"), to: "good")
        try cloud.refuse(saying: ["commits/00000000000000000003.json", "parent"]) { _ in
            try CloudForgery.rewriteCommit(second, "commit['nonce'] = '0' * 16")
        }
        for answered in ["{'phone': 9, 'watch': 6}", "{'phone': 9}", "{'phone': 10}"] {
            try cloud.refuse(saying: ["commits/00000000000000000003.json", "a smaller number of decided edits of watch than its parent"]) { scratch in
                try CloudForgery.rewriteCommit(second, "commit['answered'] = {'phone': 9, 'watch': 7}")
                let third = scratch.path("\(Scene.zone)/commits/00000000000000000003.json")
                try CloudForgery.rewriteCommit(
                    third, "commit['answered'] = \(answered); commit['parent'] = sha(open(zone + '/commits/00000000000000000002.json', 'rb').read())")
            }
        }
        try cloud.refuse(saying: ["commits/00000000000000000001.json", "is not the one that this device has read"], verifies: false) { scratch in
            try CloudForgery.rewriteCommit(scratch.path("\(Scene.zone)/commits/00000000000000000001.json"), "commit['nonce'] = '0' * 16")
        }
        // A number that is missing hides what comes behind it; looking at the whole zone says so.
        try FileManager.default.removeItem(atPath: second)
        let run = try scene.run("check cloud --all-versions")
        #expect(
            run.status == 65 && run.errorText.contains("commits/00000000000000000002.json: the commit is missing and later ones are there"), "\(run.errorText)")
    }

    private static func python(_ text: String) throws -> String { String(decoding: try JSONEncoder().encode(text), as: UTF8.self) }
}
