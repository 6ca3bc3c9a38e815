import CloudStore
import SnapshotModel
import Synchronization
import Testing

@testable import ProjectSharing

/// Comments: refused or sent, never lost.
@Suite struct CommentTests {
    private let project = ProjectDraft(id: "garden", title: "Garden")

    @Test func commentsAreListedInTheOrderInWhichTheyWerePosted() async throws {
        let cloud = SharingCloud()
        let anna = ProjectSharing(cloud, device: "anna"), ben = ProjectSharing(cloud, device: "ben")
        try await anna.publish(project, owner: "Anna")
        try await anna.publish(ProjectDraft(id: "other", title: "Other"), owner: "Anna")
        let texts = (0..<9).map { "comment \($0)" }
        for (index, text) in texts.enumerated() {
            let posted = try await (index % 2 == 0 ? anna : ben).post(text, by: "N\(index)", on: "garden")
            #expect(posted.text == text && posted.postedAt != nil)
        }
        try await ben.post("elsewhere", by: "Ben", on: "other")
        let seen = try await anna.comments(on: "garden")
        #expect(seen.map(\.text) == texts && seen.map(\.name) == (0..<9).map { "N\($0)" })
        #expect(seen.map(\.device) == (0..<9).map { $0 % 2 == 0 ? "anna" : "ben" })
    }

    @Test(arguments: [("", "Ben"), (" \n\t", "Ben"), ("text", ""), ("text", " \u{a0}"), (String(repeating: "x", count: 20_001), "Ben")])
    func emptyAndOverlongCommentsAreRefusedAndGivenBack(text: String, name: String) async throws {
        let cloud = SharingCloud()
        let anna = ProjectSharing(cloud, device: "anna")
        try await anna.publish(project, owner: "Anna")
        do throws(CommentNotSent) {
            try await anna.post(text, by: name, on: "garden")
            Issue.record("it was sent")
        } catch {
            #expect(error.text == text && error.name == name)
            #expect((error.cause as? CloudError)?.code == .invalidArguments)
            #expect(text.utf8.count < 5 || !error.description.contains(text))
        }
        #expect(try await cloud.commitCount() == 1)
    }

    @Test func textIsGivenBackWhenSendingFails() async throws {
        let cloud = SharingCloud()
        let anna = ProjectSharing(cloud, device: "anna")
        try await anna.publish(project, owner: "Anna")
        cloud.beforeEachPublish { _ in throw CloudError(.quotaExceeded, at: "cloud", "there is no room") }
        do throws(CommentNotSent) {
            try await anna.post("  my words\n", by: "Ben", on: "garden")
            Issue.record("it was sent")
        } catch {
            #expect(error.text == "  my words\n" && error.name == "Ben")
            #expect(PresentableError(error.cause).code == .quotaExceeded)
        }
        #expect(try await anna.comments(on: "garden").isEmpty)
    }

    @Test func commentOnAProjectThatGoesMeanwhileIsGivenBackAndLeavesNothing() async throws {
        let cloud = SharingCloud()
        let anna = ProjectSharing(cloud.wrapped, device: "anna"), ben = ProjectSharing(cloud, device: "ben")
        try await anna.publish(project, owner: "Anna")
        // Ben's comment has been checked and is on its way.
        cloud.beforeEachPublish { if $0 == 1 { try await anna.remove("garden") } }
        do throws(CommentNotSent) {
            try await ben.post("too late", by: "Ben", on: "garden")
            Issue.record("it was sent")
        } catch {
            #expect(error.text == "too late" && (error.cause as? CloudError)?.code == .unknownItem)
        }
        #expect(try await cloud.names() == [:])
        await #expect { try await ben.comments(on: "garden") } throws: { ($0 as? CloudError)?.code == .unknownItem }
    }

    @Test func commentThatArrivesDuringARemovalGoesToo() async throws {
        let cloud = SharingCloud()
        let anna = ProjectSharing(cloud, device: "anna"), ben = ProjectSharing(cloud.wrapped, device: "ben")
        try await anna.publish(project, owner: "Anna")
        cloud.beforeEachPublish { if $0 == 1 { try await ben.post("just now", by: "Ben", on: "garden") } }
        try await anna.remove("garden")
        #expect(try await cloud.names() == [:])
    }
}
