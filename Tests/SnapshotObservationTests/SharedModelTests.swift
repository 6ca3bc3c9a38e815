import CloudContract
import CloudStore
import DirectoryCloud
import Foundation
import SnapshotModel
import SnapshotObservation
import ProjectSharing
import Synchronization
import TestSupport
import Testing

/// The models of shared projects show what other devices share and say.
@Suite(.timeLimit(.minutes(60))) @MainActor struct SharedModelTests {
    private func clouds() throws -> [(cloud: CloudDatabase, scratch: ScratchDirectory)] {
        let scratch = try ScratchDirectory()
        let directory = try DirectoryCloud.create(at: scratch.path("cloud"), container: "iCloud.org.example.board")
        return [(MemoryCloudDatabase(), scratch), (directory, scratch)]
    }

    private let garden = ProjectDraft(
        id: "garden", title: "Garden", items: [SharedItem(id: "1", title: "Dig"), SharedItem(id: "2", title: "Sow", isCompleted: true)])

    @Test func projectsAndTheirItemsAppear() async throws {
        for (cloud, scratch) in try clouds() {
            let anna = ProjectSharing(cloud, device: "anna"), ben = ProjectSharing(cloud, device: "ben")
            let list = SharedProjectsModel(of: ben, language: .english), project = SharedProjectModel(of: "garden", in: ben, language: .english)
            let states = Seen { list.state }
            await list.load()
            await project.load()
            #expect(list.state == .noResults && project.status == .absent && project.state == .noResults && project.failure == nil)
            let running = [Task { await list.run(every: .milliseconds(50)) }, Task { await project.run(every: .milliseconds(50)) }]
            try await anna.publish(garden, owner: "Anna")
            try await Eventually.isSeen("the project appears") { list.projects.map(\.title) == ["Garden"] }
            try await Eventually.isSeen("its items appear") { project.items.map(\.title) == ["Dig", "Sow"] }
            #expect(project.status == .exists && project.project?.owner == "Anna")
            try await anna.post("Lovely!", by: "Anna", on: "garden")
            try await Eventually.isSeen("the comment appears") { project.comments.comments.map(\.text) == ["Lovely!"] }
            var smaller = garden
            smaller.items.removeFirst()
            try await anna.publish(smaller, owner: "Anna")
            try await Eventually.isSeen("an item has gone") { project.items.map(\.title) == ["Sow"] }
            try await anna.remove("garden")
            try await Eventually.isSeen("the project has gone") { project.status == .absent && project.items.isEmpty && list.projects.isEmpty }
            for task in running {
                task.cancel()
                await task.value
            }
            #expect(states.values.first == .inactive && states.values.contains(.success) && list.state == .noResults)
            withExtendedLifetime(scratch) {}
        }
    }

    /// A cloud that answers when the test says so.
    private struct Slowness: CloudLayer {
        let answers: AsyncStream<Void>

        func willCall(_ call: CloudCall, in zone: ZoneID?) async throws {
            for await _ in answers {}
        }
    }

    @Test func aLoadThatLastsIsShown() async throws {
        let (answers, continuation) = AsyncStream.makeStream(of: Void.self)
        let list = SharedProjectsModel(of: ProjectSharing(MemoryCloudDatabase().adding(Slowness(answers: answers)), device: "ben"), language: .english)
        let load = Task { await list.load() }
        try await Eventually.isSeen("it is loading") { list.state == .loading }
        continuation.finish()
        await load.value
        #expect(list.state == .noResults)
    }

    @Test func theOwnerSharesAndRemoves() async throws {
        let cloud = MemoryCloudDatabase()
        let model = SharedProjectModel(of: "garden", in: ProjectSharing(cloud, device: "anna"), language: .english)
        await model.publish(garden, owner: "Anna")
        #expect(model.status == .exists && model.items.count == 2 && model.failure == nil)
        // Another device may look, and may not remove: what it shows stays, beside the reason.
        let other = SharedProjectModel(of: "garden", in: ProjectSharing(cloud, device: "ben"), language: .italian)
        await other.remove()
        #expect(other.status == .exists && other.items.count == 2 && other.failure?.identifier == "cloud.permissionFailure")
        #expect(other.failure?.title == ErrorEntry(code: .permissionFailure).text(in: .italian).title)
        await model.remove()
        #expect(model.status == .absent && model.items.isEmpty && model.project == nil && model.failure == nil)
        await other.load()
        #expect(other.status == .absent && other.failure == nil)
    }

    @Test func aCommentThatIsNotSentStaysInItsField() async throws {
        let account = CloudAccount(), memory = MemoryCloudDatabase()
        let cloud = memory.requiring(account)
        try await ProjectSharing(memory, device: "anna").publish(garden, owner: "Anna")
        let comments = CommentsModel(on: "garden", in: ProjectSharing(cloud, device: "ben"), language: .english)
        await comments.load()
        #expect(comments.state == .noResults)
        comments.draft = "Well done"
        account.set(.noAccount)
        await comments.post(by: "Ben")
        #expect(comments.draft == "Well done" && comments.failure?.identifier == "cloud.notAuthenticated" && comments.comments.isEmpty)
        account.set(.available)
        await comments.post(by: "Ben")
        #expect(comments.draft.isEmpty && comments.failure == nil && comments.comments.map(\.text) == ["Well done"] && comments.state == .success)
    }

    @Test func aListIsLoadedOnceAndKeepsWhatItHasWhenALoadFails() async throws {
        let fault = Fault(), memory = MemoryCloudDatabase()
        for number in 1...3 { try await ProjectSharing(memory, device: "anna").publish(ProjectDraft(id: "p\(number)", title: "P\(number)"), owner: "Anna") }
        let list = SharedProjectsModel(of: ProjectSharing(memory.adding(fault), device: "ben"), pageSize: 2, language: .italian)
        fault.error.withLock { $0 = CloudError(.cloudUnavailable, at: "cloud", "it is not mounted") }
        await list.load()
        #expect(list.state == .inactive && list.failure?.code == .cloudUnavailable && list.failure?.isRetryable == true)
        #expect(list.failure?.title == ErrorEntry(code: .cloudUnavailable).text(in: .italian).title)
        fault.error.withLock { $0 = nil }
        // It was never loaded, so the next appearance of the screen tries again.
        await list.load()
        #expect(list.state == .success && list.failure == nil && list.projects.map(\.id) == ["p3", "p2"] && list.hasMore)
        let reads = fault.reads.withLock(\.self)
        await list.load()
        #expect(fault.reads.withLock(\.self) == reads)
        await list.loadMore()
        await list.loadMore()
        #expect(list.projects.map(\.id) == ["p3", "p2", "p1"] && !list.hasMore && list.state == .success)
        fault.error.withLock { $0 = CloudError(.cloudUnavailable, at: "cloud", "it is not mounted") }
        await list.reload()
        #expect(list.state == .success && list.projects.count == 3 && list.failure != nil)
        fault.error.withLock { $0 = nil }
        await list.reload()
        #expect(list.projects.map(\.id) == ["p3", "p2"] && list.failure == nil)
    }

    /// A cloud that cannot be read when the test says so.
    private final class Fault: CloudLayer {
        let error = Mutex<CloudError?>(nil), reads = Mutex(0)

        func willCall(_ call: CloudCall, in zone: ZoneID?) async throws {
            reads.withLock { $0 += 1 }
            if let error = error.withLock(\.self) { throw error }
        }
    }

    @Test func aCommentIsShownAtOnceAndOthersWhenReloaded() async throws {
        let cloud = MemoryCloudDatabase(), anna = ProjectSharing(cloud, device: "anna")
        try await anna.publish(garden, owner: "Anna")
        let comments = CommentsModel(on: "garden", in: ProjectSharing(cloud, device: "ben"), language: .english)
        await comments.load()
        comments.draft = "mine"
        await comments.post(by: "Ben")
        #expect(comments.state == .success && comments.comments.map(\.text) == ["mine"])
        try await anna.post("yours", by: "Anna", on: "garden")
        await comments.load()
        #expect(comments.comments.count == 1)
        await comments.reload()
        #expect(comments.comments.map(\.text) == ["mine", "yours"])
    }
}
