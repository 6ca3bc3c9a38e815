import CloudStore
import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

/// Files that somebody swaps, cuts or lengthens while they are read: what is used is what was hashed, or nothing is.
@Suite(.timeLimit(.minutes(60))) struct SwappedFileTests {
    private static let commit = "\(DirectoryUnderTest.zonePath)/commits/00000000000000000002.json"

    @Test func aCommitThatIsSwappedWhileItIsReadIsTheOneOrRefused() async throws {
        let test = try DirectoryUnderTest()
        try await test.zone()
        let tokens = try await test.history(of: 2)
        let path = "\(test.scratch.path)/\(Self.commit)"
        let good = try test.scratch.bytes(Self.commit)
        let forged = try reseal(good) { $0["nonce"] = "0123456789abcdef" }
        let outside = try ScratchDirectory()
        try outside.write(good, to: "good")
        try outside.write(forged, to: "forged")
        try outside.write(Array(good.dropLast(20)), to: "cut")
        let files = ["good", "forged", "cut"].map { name in { @Sendable (target: String) in link("\(outside.path)/\(name)", target) } }
        let makers: [@Sendable (String) -> Int32] = files + [{ symlink("\(outside.path)/good", $0) }, { mkfifo($0, 0o600) }, files[0]]
        let swapper = Swapper(path, makers)
        swapper.start()
        defer { swapper.stop() }
        var taken: Set<ChangeToken> = []
        let allowed = [tokens[1], ChangeToken(number: 2, hash: ContentHash.of(forged))]
        // On a busy machine, most reads meet a file that is not whole.
        for round in 0..<20_000 where round < 400 || swapper.count <= 10 || taken.isEmpty {
            do {
                let changes = try await test.cloud.changes(since: tokens[0], in: .standard)
                // A whole commit under its own hash: never the bytes of one under the hash of another.
                for commit in changes.commits { #expect(allowed.contains(commit.token)) }
                if let token = changes.commits.first?.token { taken.insert(token) }
            } catch let error as CloudError {
                // One that is cut was written just now, and counts as still arriving.
                #expect([.damaged, .changeTokenExpired, .pending].contains(error.code), "\(error)")
            }
        }
        #expect(swapper.count > 10 && !taken.isEmpty)
    }

    @Test func anAssetThatIsCutWhileItIsReadIsDamageAndNoCrash() async throws {
        let test = try DirectoryUnderTest()
        try await test.zone()
        let content = [UInt8](repeating: 7, count: 300_000)
        let asset = try await test.asset(content, index: [1, 2, 3])
        let path = "\(test.scratch.path)/\(DirectoryUnderTest.zonePath)/\(asset.path)"
        let reader = try await test.cloud.openAsset(asset, in: .standard)
        #expect(try reader.all() == content)
        #expect(truncate(path, 5) == 0)
        await expectCloudError(.damaged) { try reader.all() }
        #expect(truncate(path, 600_000) == 0)
        // Of one that has grown, the bytes that its commit speaks of are read, and hashed by whoever asked for them.
        #expect(try reader.all().count == content.count)
        await expectCloudError(.damaged) { try await test.cloud.openAsset(asset, in: .standard) }
        // And one whose name is another file's by now is still the file that was opened.
        #expect(unlink(path) == 0)
        #expect(symlink("/etc/passwd", path) == 0)
        #expect(try reader.all().prefix(5) == content.prefix(5))
    }

    @Test func hugeSparseFilesAreNotRead() async throws {
        let test = try DirectoryUnderTest()
        try await test.zone()
        let tokens = try await test.history(of: 2)
        let before = try test.scratch.bytes(Self.commit)
        for name in [Self.commit, "\(DirectoryUnderTest.zonePath)/zone.json", "cloud.json"] {
            let bytes = try test.scratch.bytes(name)
            #expect(truncate("\(test.scratch.path)/\(name)", 1 << 40) == 0)
            await expectCloudError(.damaged) { try await test.cloud.changes(since: tokens[0], in: .standard) }
            try test.scratch.write(bytes, to: name)
        }
        #expect(try test.scratch.bytes(Self.commit) == before)
        // A message and a report of that size are passed over.
        let folder = "\(DirectoryUnderTest.zonePath)/messages/watch"
        try FileManager.default.createDirectory(atPath: "\(test.scratch.path)/\(folder)", withIntermediateDirectories: true)
        let message = "\(folder)/\(String(repeating: "0", count: 32)).json"
        try test.scratch.write([], to: message)
        #expect(truncate("\(test.scratch.path)/\(message)", 1 << 40) == 0)
        let mailbox = try await test.cloud.mailbox(in: .standard)
        #expect(mailbox.messages.isEmpty && mailbox.setAside.count == 1)
    }
}

/// A thread that puts one thing after another in the place of a file.
private final class Swapper: Sendable {
    private let path: String
    private let makers: [@Sendable (String) -> Int32]
    private let isDone = Atomic(false)
    private let swaps = Atomic(0)
    private let ended = DispatchSemaphore(value: 0)

    init(_ path: String, _ makers: [@Sendable (String) -> Int32]) {
        self.path = path
        self.makers = makers
    }

    var count: Int { swaps.load(ordering: .relaxed) }

    func start() {
        Thread.detachNewThread { [self] in
            let temporary = path + ".swap"
            while !isDone.load(ordering: .relaxed) {
                for make in makers where make(temporary) == 0 {
                    // rename of a file onto another name of the same file does nothing and leaves both.
                    rename(temporary, path)
                    unlink(temporary)
                    swaps.add(1, ordering: .relaxed)
                }
            }
            ended.signal()
        }
    }

    func stop() {
        isDone.store(true, ordering: .relaxed)
        ended.wait()
    }
}
