import CloudStore
import DirectoryCloud
import Foundation
import Glibc
import StrictText
import Synchronization
import TestSupport
import Testing

/// Whatever a system call reports, a publish either is there, whole and durable, or threw; and nothing else is harmed.
@Suite(.serialized) struct PublishFaultTests {
    private let zone = DirectoryUnderTest.zonePath

    /// An asset with its index and the commit that names it, after `token`.
    private func publish(on cloud: DirectoryCloud, after token: ChangeToken) async throws -> ChangeToken {
        let writer = try await cloud.newAsset(for: "item", number: token.number + 1, kind: .snapshot, in: .standard)
        try writer.setIndex(Data("{}".utf8))
        try Array(repeating: UInt8(7), count: 3000).withUnsafeBytes { try writer.write($0) }
        let asset = try writer.finish(rawByteCount: 9000)
        let record = CloudRecord(type: "Item", name: "item", fields: ["dataFile": .asset(asset)])
        do {
            let commit = try await cloud.prepare(CommitDraft(device: "writer", saving: [record], clock: .now), after: token, in: .standard)
            return try await cloud.publish(commit)
        } catch {
            await cloud.discard([asset], in: .standard)
            throw error
        }
    }

    /// An asset that no commit names.
    private func asset(on cloud: DirectoryCloud, _ fill: (any AssetWriter) throws -> Void) async throws -> CloudAsset {
        let writer = try await cloud.newAsset(for: "item", number: 1, kind: .snapshot, in: .standard)
        try fill(writer)
        return try writer.finish(rawByteCount: 1)
    }

    /// Reads the zone with nothing faulty in between, and every asset that it names.
    private func verifyWhole(_ test: DirectoryUnderTest) async throws -> ChangeToken? {
        let state = try await test.cloud.records(in: .standard)
        for asset in state.records.flatMap(\.assets) {
            let reader = try await test.cloud.openAsset(asset, in: .standard)
            #expect(ContentHash.of(try reader.all()) == asset.sha256)
            #expect(try reader.index() == Data("{}".utf8))
        }
        return state.token
    }

    @Test func theStepsOfAPublishComeInTheirOrder() async throws {
        let calls = FaultyFileSystem()
        let (test, token) = try await start()
        let cloud = try DirectoryCloud(path: test.scratch.path, expecting: nil, calls: calls, nonces: .system)
        _ = try await publish(on: cloud, after: token)
        let steps = calls.calls.filter {
            ["createNameless", "write", "fsync", "reopen", "close", "link"].contains($0.name) && !$0.target.hasPrefix(".snapsync-")
        }
        .filter { $0.name != "close" || $0.target == "." }
        .map { call in
            let target = call.target.hasSuffix(".index.json") ? "index" : call.target.hasSuffix(".json.gz") ? "asset" : call.target
            return call.name == "createNameless" || target == "." ? call.name : "\(call.name) \(target)"
        }
        // Writes come in pieces; one stands for all of a file.
        let order = steps.reduce(into: [String]()) { if $0.last != $1 || $1 != "write" { $0.append($1) } }
        let sealing = ["fsync", "reopen", "close"]
        let probe = ["createNameless", "close", "createNameless", "close"]
        let asset = ["createNameless", "write"] + sealing
        let index = ["createNameless", "write"] + sealing + ["link index", "close"]
        let commit = ["createNameless", "write"] + sealing + ["link 00000000000000000002.json"]
        #expect(
            order == ["fsync assets"] + probe + asset + index + ["link asset", "fsync item", "close"]
                + commit + ["fsync commits", "close"])
    }

    @Test(arguments: [EIO, ENOSPC, EACCES, ESTALE])
    func everyCallThatFailsOnceIsAnErrorOrNoHarm(_ number: Int32) async throws {
        let counting = FaultyFileSystem()
        let (first, token) = try await start()
        _ = try await publish(on: try DirectoryCloud(path: first.scratch.path, expecting: nil, calls: counting, nonces: .system), after: token)
        #expect(counting.openCount == 0)
        #expect(counting.calls.count > 40)
        for failing in 0..<counting.calls.count {
            try await expectHonest(failing, .refused(number))
        }
    }

    @Test func everyCallThatIsDoneButReportedAsFailedIsSettledByLooking() async throws {
        let counting = FaultyFileSystem()
        let (first, token) = try await start()
        _ = try await publish(on: try DirectoryCloud(path: first.scratch.path, expecting: nil, calls: counting, nonces: .system), after: token)
        for call in counting.calls where ["link", "fsync", "mkdir", "unlink", "close"].contains(call.name) {
            try await expectHonest(call.index, .doneButReported(EIO))
        }
    }

    @Test(arguments: [EIO, EEXIST])
    func aLinkWhoseAnswerIsLostIsASuccess(_ number: Int32) async throws {
        let (test, token) = try await start()
        let faulty = FaultyFileSystem { $0.name == "link" && !$0.target.hasPrefix(".") ? .doneButReported(number) : nil }
        let cloud = try DirectoryCloud(path: test.scratch.path, expecting: nil, calls: faulty, nonces: .system)
        let record = CloudRecord(type: "Item", name: "item", fields: [:])
        let commit = try await cloud.prepare(CommitDraft(device: "writer", saving: [record], clock: .now), after: token, in: .standard)
        #expect(try await cloud.publish(commit) == commit.token)
        #expect(try await verifyWhole(test) == commit.token)
    }

    private func start() async throws -> (DirectoryUnderTest, ChangeToken) {
        let test = try DirectoryUnderTest(inMemory: true)
        try await test.zone()
        return (test, try await test.save(0, after: nil))
    }

    /// Publishes with one call failing: a success is one, an error has done no harm, and the next try succeeds.
    private func expectHonest(_ failing: Int, _ fault: FaultyFileSystem.Fault) async throws {
        let (test, token) = try await start()
        let faulty = FaultyFileSystem { $0.index == failing ? fault : nil }
        do {
            let cloud = try DirectoryCloud(path: test.scratch.path, expecting: nil, calls: faulty, nonces: .system)
            let reached = try await publish(on: cloud, after: token)
            let seen = try await verifyWhole(test)
            #expect(seen == reached, "call \(failing)")
        } catch let error as CloudError {
            #expect(!error.reason.isEmpty)
            // Either nothing was published, or what was published is whole: its outcome was unknown to the publisher.
            let seen = try await verifyWhole(test)
            let changes = try await test.cloud.changes(since: token, in: .standard)
            #expect(changes.commits.count <= 1 && seen == changes.token, "call \(failing)")
            _ = try await publish(on: test.directory, after: seen ?? token)
            _ = try await verifyWhole(test)
        }
        #expect(faulty.openCount == 0 && faulty.repeatedSyncs == 0, "call \(failing)")
        let left = try test.scratch.tree().filter { $0.contains(".tmp") }
        if !faulty.calls.contains(where: { $0.index == failing && $0.name == "unlink" }) { #expect(left.isEmpty, "call \(failing)") }
    }

    /// The first close after a write is that of the file: file systems across a network say there that they have lost it.
    @Test(arguments: ["fsync", "close"]) func aFailedEndOfAFileThrowsAndNothingIsInPlace(_ name: String) async throws {
        let (test, token) = try await start()
        let wasWritten = Mutex(name == "fsync")
        let faulty = FaultyFileSystem { call in
            wasWritten.withLock { wasWritten in
                if call.name == "write" { wasWritten = true }
                return call.name == name && wasWritten ? .refused(EIO) : nil
            }
        }
        let cloud = try DirectoryCloud(path: test.scratch.path, expecting: nil, calls: faulty, nonces: .system)
        let record = CloudRecord(type: "Item", name: "item", fields: [:])
        let commit = try await cloud.prepare(CommitDraft(device: "writer", saving: [record], clock: .now), after: token, in: .standard)
        let tree = try test.scratch.tree()
        await expectCloudError(.inputOutput) { try await cloud.publish(commit) }
        #expect(try test.scratch.tree() == tree)
        #expect(faulty.repeatedSyncs == 0)
    }

    @Test func aLargeAssetIsOnItsWayToTheDiskWhileItIsWritten() async throws {
        let (test, token) = try await start()
        let calls = FaultyFileSystem()
        let cloud = try DirectoryCloud(path: test.scratch.path, expecting: nil, calls: calls, nonces: .system)
        let writer = try await cloud.newAsset(for: "item", number: token.number + 1, kind: .snapshot, in: .standard)
        let piece = [UInt8](repeating: 7, count: 3 << 20)
        for _ in 0..<7 { try piece.withUnsafeBytes { try writer.write($0) } }
        _ = try writer.finish(rawByteCount: 1)
        // Each stretch once, from where the last one ended; the rest is for fsync, which comes all the same.
        let steps = calls.calls.map(\.name).filter { $0.hasPrefix("begin") || $0 == "fsync" }
        #expect(steps.filter { $0 != "fsync" } == ["begin 0 \(9 << 20)", "begin \(9 << 20) \(9 << 20)"])
        #expect(steps.lastIndex { $0.hasPrefix("begin") } ?? .max < steps.lastIndex(of: "fsync") ?? 0)
    }

    /// What lies in another asset is copied by the file system, all of it or as far as that goes, and written from there on.
    @Test(arguments: [nil, 0, 2] as [Int?]) func bytesOfAnotherAssetAreTheSameWhicheverWayTheyCome(refusedFrom: Int?) async throws {
        let (test, _) = try await start()
        let copies = Mutex(Set<Int>())
        let calls = FaultyFileSystem { call in
            guard call.name == "copy", let refusedFrom else { return nil }
            return copies.withLock { indices in
                indices.insert(call.index)
                return indices.count <= refusedFrom ? nil : .refused(EXDEV)
            }
        }
        let cloud = try DirectoryCloud(path: test.scratch.path, expecting: nil, calls: calls, nonces: .system)
        let first = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        let old = try await cloud.openAsset(try await asset(on: cloud) { writer in try first.withUnsafeBytes { try writer.write($0) } }, in: .standard)
        let made = try await asset(on: cloud) { writer in
            try [UInt8](repeating: 1, count: 10).withUnsafeBytes { try writer.write($0) }
            for part in [50_000..<120_000, 150_000..<200_000] {
                try Array(first[part]).withUnsafeBytes { try writer.write($0, copying: old, at: part.lowerBound) }
            }
        }
        let wanted = [UInt8](repeating: 1, count: 10) + first[50_000..<120_000] + first[150_000...]
        #expect(try await test.cloud.openAsset(made, in: .standard).all() == wanted)
        #expect(made.sha256 == ContentHash.of(wanted) && made.byteCount == wanted.count)
        let count = calls.calls.count { $0.name == "copy" }
        if let refusedFrom { #expect(count == refusedFrom + 1) } else { #expect(count > 20) }
    }

    @Test func aFileSystemThatCopiesSomethingElseIsFoundBeforeAnybodySeesIt() async throws {
        let (test, token) = try await start()
        let calls = FaultyFileSystem { $0.name == "copy" ? .garbled : nil }
        let cloud = try DirectoryCloud(path: test.scratch.path, expecting: nil, calls: calls, nonces: .system)
        let old = try await cloud.openAsset(
            try await asset(on: cloud) { writer in try Array(UInt8(0)...255).withUnsafeBytes { try writer.write($0) } }, in: .standard)
        await expectCloudError(.inputOutput) {
            try await asset(on: cloud) { writer in try Array(UInt8(100)..<200).withUnsafeBytes { try writer.write($0, copying: old, at: 100) } }
        }
        #expect(try await verifyWhole(test) == token)
    }

    @Test func aDiskThatWritesSomethingElseIsFoundBeforeAnybodySeesIt() async throws {
        let (test, token) = try await start()
        let faulty = FaultyFileSystem { $0.name == "write" ? .garbled : nil }
        let cloud = try DirectoryCloud(path: test.scratch.path, expecting: nil, calls: faulty, nonces: .system)
        await expectCloudError(.inputOutput) { try await publish(on: cloud, after: token) }
        #expect(try test.scratch.tree().filter { $0.hasPrefix("\(zone)/assets/item/") }.isEmpty)
        let record = CloudRecord(type: "Item", name: "item", fields: [:])
        let commit = try await cloud.prepare(CommitDraft(device: "writer", saving: [record], clock: .now), after: token, in: .standard)
        await expectCloudError(.inputOutput) { try await cloud.publish(commit) }
        #expect(try await verifyWhole(test) == token)
    }

    @Test(arguments: [0, 40, 120]) func aLargeFileOfWhichOnePieceIsWrittenWrongIsFound(number: Int) async throws {
        let (test, token) = try await start()
        let writes = Mutex<[Int]>([])
        let faulty = FaultyFileSystem { call in
            guard call.name == "write" else { return nil }
            return writes.withLock { indices in
                if indices.last != call.index { indices.append(call.index) }
                return indices.count == number + 1 ? .garbled : nil
            }
        }
        let cloud = try DirectoryCloud(path: test.scratch.path, expecting: nil, calls: faulty, nonces: .system)
        let writer = try await cloud.newAsset(for: "item", number: token.number + 1, kind: .snapshot, in: .standard)
        let piece = [UInt8](repeating: 7, count: 3 << 20)
        for _ in 0..<7 { try piece.withUnsafeBytes { try writer.write($0) } }
        let error = #expect(throws: CloudError.self) { _ = try writer.finish(rawByteCount: 1) }
        #expect(error?.reason == "what was read back is not what was written")
        #expect(try test.scratch.tree().filter { $0.hasPrefix("\(zone)/assets/item/") }.isEmpty)
    }

    @Test func errorsSayWhatTheSystemSaid() async throws {
        let (test, token) = try await start()
        for (number, code) in [
            (ENOSPC, CloudError.Code.quotaExceeded), (EDQUOT, .quotaExceeded), (EACCES, .permissionFailure), (EROFS, .permissionFailure), (EIO, .inputOutput),
        ] {
            let faulty = FaultyFileSystem { $0.name == "write" ? .refused(number) : nil }
            let cloud = try DirectoryCloud(path: test.scratch.path, expecting: nil, calls: faulty, nonces: .system)
            let error = await expectCloudError(code) { try await publish(on: cloud, after: token) }
            #expect(error?.reason.contains(String(cString: strerror(number))) == true)
            #expect(error?.place.hasPrefix("\(zone)/assets/item/00000000000000000002-") == true, "\(error?.place ?? "")")
        }
    }

    @Test func aClockFarFromTheDirectorysOwnPublishesNothing() async throws {
        let (test, token) = try await start()
        for days in [-400, -2, 2, 400] as [Int64] {
            let shifted = FaultyFileSystem(clockShift: days * 86_400_000_000)
            let cloud = try DirectoryCloud(path: test.scratch.path, expecting: nil, calls: shifted, nonces: .system)
            await expectCloudError(.clockUnusable) { try await publish(on: cloud, after: token) }
        }
        #expect(try await test.cloud.changes(since: token, in: .standard).commits.isEmpty)
        let near = FaultyFileSystem(clockShift: 80_000_000_000)
        let cloud = try DirectoryCloud(path: test.scratch.path, expecting: nil, calls: near, nonces: .system)
        #expect(try await publish(on: cloud, after: token).number == 2)
    }

    @Test func aFileSystemThatCanNeitherLinkNorRenameIsRefused() async throws {
        let scratch = try ScratchDirectory()
        let unfit = FaultyFileSystem { ["createNameless", "link", "rename"].contains($0.name) ? .refused(EINVAL) : nil }
        let error = await expectCloudError(.inputOutput) {
            try DirectoryCloud.create(at: scratch.path, container: "iCloud.org.example.test", calls: unfit, nonces: .system)
        }
        #expect(error?.hint?.contains("another file system") == true)
        #expect(try scratch.tree().isEmpty && unfit.openCount == 0)
    }

    @Test func aFullDiskIsNotMistakenForAnUnfitFileSystem() async throws {
        let scratch = try ScratchDirectory()
        let full = FaultyFileSystem { ["createNameless", "create"].contains($0.name) ? .refused(ENOSPC) : nil }
        await expectCloudError(.quotaExceeded) {
            try DirectoryCloud.create(at: scratch.path, container: "iCloud.org.example.test", calls: full, nonces: .system)
        }
    }

    @Test func temporariesOfKilledRunsAreSweptWhenADayOld() async throws {
        let named = FaultyFileSystem { $0.name == "createNameless" ? .refused(EOPNOTSUPP) : nil }
        let (test, token) = try await start()
        let commits = "\(test.scratch.path)/\(zone)/commits"
        let hex = { (digit: Character) in String(repeating: digit, count: 32) }
        let old = ".snapsync-\(hex("a")).tmp", young = ".snapsync-\(hex("b")).tmp", foreign = ".snapsync-\(hex("x")).tmp"
        for name in [old, young, foreign] { try test.scratch.write([1], to: "\(zone)/commits/\(name)") }
        for name in [old, foreign] {
            try FileManager.default.setModification(secondsAgo: 90_000, ofItemAtPath: "\(commits)/\(name)")
        }
        let cloud = try DirectoryCloud(path: test.scratch.path, expecting: nil, calls: named, nonces: .system)
        _ = try await publish(on: cloud, after: token)
        let left = try test.scratch.tree().filter { $0.contains(".tmp") }
        #expect(left == ["\(zone)/commits/\(young)", "\(zone)/commits/\(foreign)"])
    }

    @Test func separateInstancesRacingGiveEachNumberOnce() async throws {
        let (test, start) = try await start()
        let path = test.scratch.path
        let won = try await withThrowingTaskGroup(of: [Int].self) { group in
            for _ in 0..<6 {
                group.addTask {
                    let cloud = try DirectoryCloud(path: path)
                    var token = start
                    var won: [Int] = []
                    while token.number < 40 {
                        let record = CloudRecord(type: "Item", name: "item", fields: ["count": .integer(Int64(token.number))])
                        let draft = CommitDraft(device: "writer", saving: [record], clock: .now)
                        do {
                            token = try await cloud.publish(try await cloud.prepare(draft, after: token, in: .standard))
                            won.append(token.number)
                        } catch let error as CloudError where error.code == .serverRecordChanged {
                            token = try await cloud.changes(since: token, in: .standard).token ?? token
                        }
                    }
                    return won
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(won.sorted() == Array(2..<2 + won.count) && won.count >= 39)
        #expect(try await verifyWhole(test)?.number == won.max())
    }
}
