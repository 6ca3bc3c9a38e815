import CloudContract
import CloudStore
import RecordZones
import Foundation
import SnapshotModel
import Synchronization
import TestSupport
import Testing

@testable import ProjectSharing

/// Projects in the public scope: whole or not at all, and their owner's alone.
@Suite struct ProjectSharingTests {
    private func draft(_ id: String = "garden", title: String = "Garden", items count: Int = 3, salt: String = "") -> ProjectDraft {
        ProjectDraft(
            id: id, title: title, detail: "Before the frost",
            items: (0..<count).map { SharedItem(id: "item \($0)", title: "Item \($0)\(salt)", detail: "d\($0)", isCompleted: $0 % 2 == 1) })
    }

    @Test func publishedProjectIsSeenWholeByAnotherDevice() async throws {
        let cloud = SharingCloud()
        let anna = ProjectSharing(cloud, device: "anna"), ben = ProjectSharing(cloud, device: "ben")
        #expect(try await ben.status(of: "garden") == .absent)
        #expect(try await anna.publish(draft(), owner: "Anna") == .created)
        #expect(try await ben.status(of: "garden") == .exists)
        let seen = try await ben.contents(of: "garden")
        #expect(seen.items == draft().items)
        #expect(seen.project.title == "Garden" && seen.project.detail == "Before the frost" && seen.project.owner == "Anna" && seen.project.device == "anna")
        #expect(seen.project.sharedAt != nil && seen.project.itemCount == 3 && !seen.project.isClosed)
        #expect(try await cloud.commitCount() == 1)
    }

    @Test func replacingRemovesWhatIsNoLongerInIt() async throws {
        let cloud = SharingCloud()
        let anna = ProjectSharing(cloud, device: "anna")
        try await anna.publish(draft(items: 5), owner: "Anna")
        try await anna.post("first", by: "Ben", on: "garden")
        var next = draft(title: "The garden", items: 2, salt: "!")
        next.isClosed = true
        #expect(try await anna.publish(next, owner: "Anna B.") == .replaced)
        let seen = try await anna.contents(of: "garden")
        #expect(seen.items == next.items && seen.project.isClosed && seen.project.owner == "Anna B." && seen.project.title == "The garden")
        #expect(try await cloud.names()["Project"] == ["p-garden"])
        #expect(try await anna.comments(on: "garden").map(\.text) == ["first"])
        #expect(try await cloud.commitCount() == 3)
    }

    @Test func publishingTheSameAgainMakesNoCommit() async throws {
        let cloud = SharingCloud()
        let anna = ProjectSharing(cloud, device: "anna")
        try await anna.publish(draft(), owner: "Anna")
        #expect(try await anna.publish(draft(), owner: "Anna") == .unchanged)
        #expect(try await cloud.commitCount() == 1)
        var other = draft()
        other.items.swapAt(0, 1)
        #expect(try await anna.publish(other, owner: "Anna") == .replaced)
        #expect(try await anna.contents(of: "garden").items.map(\.id) == ["item 1", "item 0", "item 2"])
    }

    @Test func removalTakesAllCommentsInAsManyCommitsAsNeeded() async throws {
        let cloud = SharingCloud(itemsPerRequest: 10)
        let anna = ProjectSharing(cloud, device: "anna")
        try await anna.publish(draft(), owner: "Anna")
        for number in 1...25 { try await anna.post("\(number)", by: "Ben", on: "garden") }
        #expect(try await anna.remove("garden") == 25)
        #expect(try await cloud.names() == [:])
        await #expect { try await anna.remove("garden") } throws: { ($0 as? CloudError)?.code == .unknownItem }
    }

    @Test func signedZoneIsRefusedWithTheWayOut() async throws {
        let cloud = SharingCloud()
        _ = try await cloud.createSignedZone(ZoneID("Shared", scope: .public), creator: "desk", publishers: .many, protection: .signed)
        let anna = ProjectSharing(cloud, device: "anna")
        for act in [
            { @Sendable in _ = try await anna.publish(draft(), owner: "Anna") }, { _ = try await anna.projects() },
            { _ = try await anna.contents(of: "garden") }, { _ = try await anna.remove("garden") }, { _ = try await anna.comments(on: "garden") },
        ] {
            await #expect { try await act() } throws: { error in
                guard let error = error as? CloudError else { return false }
                return error.code == .invalidArguments && error.reason.contains("signed or sealed") && error.hint?.contains("--zone") == true
            }
        }
    }

    @Test func onlyTheOwnersDeviceReplacesOrRemoves() async throws {
        let cloud = SharingCloud()
        let anna = ProjectSharing(cloud, device: "anna"), ben = ProjectSharing(cloud, device: "ben")
        try await anna.publish(draft(), owner: "Anna")
        for act in [{ @Sendable in _ = try await ben.publish(draft(title: "Mine"), owner: "Anna") }, { _ = try await ben.remove("garden") }] {
            await #expect { try await act() } throws: { error in
                guard let error = error as? CloudError else { return false }
                return error.code == .permissionFailure && error.reason.contains("device anna") && PresentableError(error).message == "You may not do this."
            }
        }
        #expect(try await ben.contents(of: "garden").items == draft().items)
        // Replacing does not make the last one who did it the owner's device: that is who shared it first.
        try await anna.publish(draft(items: 1), owner: "Anna")
        #expect(try await ben.projects().projects.first?.device == "anna")
    }

    @Test func ofTwoDevicesThatShareOneIDAtOnceOneIsRefused() async throws {
        let cloud = SharingCloud()
        let gate = Gate()
        let anna = ProjectSharing(cloud, device: "anna"), ben = ProjectSharing(cloud, device: "ben")
        try await anna.publish(draft("other"), owner: "Anna")
        // Ben has looked and found the id free when Anna shares it.
        let first = Mutex(true)
        cloud.beforeEachPublish { _ in
            guard
                first.withLock({ isFirst in
                    defer { isFirst = false }; return isFirst
                })
            else { return }
            await gate.wait()
        }
        let late = Task { try await ben.publish(self.draft(), owner: "Ben") }
        // Ben's own first commit waits; Anna's goes by.
        while first.withLock(\.self) { await Task.yield() }
        try await anna.publish(draft(), owner: "Anna")
        gate.open()
        await #expect { try await late.value } throws: { ($0 as? CloudError)?.code == .permissionFailure }
        #expect(try await ben.contents(of: "garden").project.owner == "Anna")
        #expect(try await cloud.names()["Project"]?.count == 2)
    }

    @Test func itemsThatCannotBeReadAreSaidAndReplaced() async throws {
        let cloud = SharingCloud()
        let anna = ProjectSharing(cloud, device: "anna")
        try await anna.publish(draft(), owner: "Anna")
        let zone = CloudZone(ZoneID("Shared", scope: .public), of: cloud, as: "anna")
        var record = try await zone.record("p-garden")
        for items in ["[", "[]", #"[{"id":"1","title":"T","colour":"red"}]"#] {
            record.fields["items"] = .string(items)
            record = try await zone.save(record)
            await #expect { try await anna.contents(of: "garden") } throws: { ($0 as? CloudError)?.code == .incompatibleVersion }
        }
        #expect(try await anna.publish(draft(), owner: "Anna") == .replaced)
        #expect(try await anna.contents(of: "garden").items == draft().items)
    }

    @Test func listIsNewestFirstInPages() async throws {
        let cloud = SharingCloud()
        let anna = ProjectSharing(cloud, device: "anna"), ben = ProjectSharing(cloud, device: "ben")
        #expect(try await ben.projects().projects.isEmpty)
        for number in 1...7 { try await (number % 2 == 0 ? ben : anna).publish(draft("p\(number)", items: 1), owner: "O") }
        // A replaced one keeps its place.
        try await anna.publish(draft("p3", items: 2), owner: "O")
        var page = try await ben.projects(limit: 3)
        var pages = [page.projects.map(\.id)]
        while let cursor = page.cursor {
            page = try await ben.projects(continuing: cursor, limit: 3)
            pages.append(page.projects.map(\.id))
        }
        #expect(pages == [["p7", "p6", "p5"], ["p4", "p3", "p2"], ["p1"]])
    }

    /// Only other devices' commits are changes, also when they were pruned while the cloud was away.
    @Test func changesAreThoseOfOtherDevices() async throws {
        let memory = MemoryCloudDatabase(), account = CloudAccount(), count = Counter()
        let anna = ProjectSharing(memory, device: "anna"), ben = ProjectSharing(memory.requiring(account), device: "ben")
        let changes = try await ben.changes(every: .milliseconds(10)), follower = Task { for await _ in changes { _ = count.next() } }
        try await anna.publish(draft(), owner: "Anna")
        try await Eventually.holds("the zone's first commit is a change") { count.value == 1 }
        try await ben.post("mine", by: "Ben", on: "garden")
        try await anna.post("yours", by: "Anna", on: "garden")
        try await Eventually.holds("a comment is a change") { count.value == 2 }
        account.set(.temporarilyUnavailable)
        for number in 1...30 { try await anna.post("\(number)", by: "Anna", on: "garden") }
        let before = count.value
        for number in 1...14 { memory.damageCommit(number, in: ZoneID("Shared", scope: .public)) { $0 = nil } }
        account.set(.available)
        try await Eventually.holds("what was pruned is a change") { count.value > before }
        follower.cancel()
        await follower.value
    }

    /// Ids and texts of any kind stay in fields; none becomes part of a name.
    @Test(arguments: [
        "../../etc/passwd", "a/b", ".hidden", "naïve ☃ 🛰️", "line\nfeed", "nul\u{0}byte", "'; DROP TABLE items; --", String(repeating: "x", count: 200), "é",
        "e\u{301}", "\u{202e}rtl",
    ])
    func awkwardTextsTravel(text: String) async throws {
        let cloud = SharingCloud()
        let anna = ProjectSharing(cloud, device: "anna")
        let draft = ProjectDraft(id: text, title: text, detail: text, items: [SharedItem(id: text, title: text, detail: text)])
        try await anna.publish(draft, owner: text)
        let comment = try await anna.post(text, by: text, on: text)
        let seen = try await ProjectSharing(cloud, device: "ben").contents(of: text)
        #expect(Array(seen.project.id.utf8) == Array(text.utf8) && Array(seen.items[0].detail.utf8) == Array(text.utf8))
        #expect(Array(seen.project.owner.utf8) == Array(text.utf8) && Array(comment.text.utf8) == Array(text.utf8))
        for name in try await cloud.names().values.joined() {
            #expect(name.range(of: "^(p-|px-|c-)[A-Za-z0-9_.-]{1,61}$", options: .regularExpression) != nil, "\(name)")
        }
        try await anna.remove(text)
        #expect(try await cloud.names() == [:])
    }

    @Test func whatCannotBeShownIsRefusedBeforeAnythingIsWritten() async throws {
        let cloud = SharingCloud()
        let anna = ProjectSharing(cloud, device: "anna")
        let long = { (count: Int) in String(repeating: "é", count: count / 2 + 1) }
        var drafts: [(ProjectDraft, String)] = ["", " \t\n", "\u{3000}", long(ShareLimits.nameByteCount)].map { (draft(), $0) }
        drafts += [draft(""), draft(" "), draft(long(200)), draft(title: ""), draft(title: long(1000)), draft(items: 20_000)].map { ($0, "Anna") }
        var wrong = draft()
        wrong.items[2].id = wrong.items[0].id
        drafts.append((wrong, "Anna"))
        wrong.items[2].id = ""
        drafts.append((wrong, "Anna"))
        wrong = draft()
        wrong.detail = long(20_000)
        drafts.append((wrong, "Anna"))
        for (draft, owner) in drafts {
            await #expect { try await anna.publish(draft, owner: owner) } throws: { ($0 as? CloudError)?.code == .invalidArguments }
        }
        #expect(try await cloud.zones().isEmpty)
    }
}
