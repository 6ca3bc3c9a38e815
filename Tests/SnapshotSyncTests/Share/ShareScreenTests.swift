import CloudStore
import SnapshotModel
import Synchronization
import Testing

@testable import ProjectSharing

/// What a screen watches: states in their order, failures beside what was there.
@Suite struct ShareScreenTests {
    private func cloud(projects count: Int) async throws -> SharingCloud {
        let cloud = SharingCloud()
        let anna = ProjectSharing(cloud, device: "anna")
        for number in 0..<count { try await anna.publish(ProjectDraft(id: "p\(number)", title: "P\(number)"), owner: "Anna") }
        return cloud
    }

    @Test(arguments: [0, 3])
    func listGoesFromInactiveThroughLoadingToItsEnd(projects count: Int) async throws {
        let cloud = try await cloud(projects: count)
        let gate = Gate()
        cloud.beforeEachRead { await gate.wait() }
        let list = SharedProjectList(of: ProjectSharing(cloud, device: "ben"))
        var values = list.values.makeAsyncIterator()
        #expect(await values.next()?.state == .inactive)
        async let loading: Void = list.load()
        #expect(await values.next()?.state == .loading)
        gate.open()
        await loading
        let shown = try #require(await values.next())
        #expect(shown.state == (count == 0 ? .noResults : .success) && shown.projects.count == count && shown.failure == nil && !shown.hasMore)
    }

    @Test func listIsLoadedOnceAndThenPageByPage() async throws {
        let cloud = try await cloud(projects: 5)
        let reads = Mutex(0)
        let list = SharedProjectList(of: ProjectSharing(cloud, device: "ben"), pageSize: 2)
        await list.load()
        cloud.beforeEachRead { reads.withLock { $0 += 1 } }
        await list.load()
        #expect(reads.withLock(\.self) == 0)
        #expect(list.shown.projects.map(\.id) == ["p4", "p3"] && list.shown.hasMore)
        await list.loadMore()
        await list.loadMore()
        await list.loadMore()
        #expect(list.shown.projects.map(\.id) == ["p4", "p3", "p2", "p1", "p0"] && !list.shown.hasMore && list.shown.state == .success)
    }

    @Test func failureStandsBesideWhatWasShown() async throws {
        let cloud = try await cloud(projects: 2)
        let list = SharedProjectList(of: ProjectSharing(cloud, device: "ben"))
        cloud.beforeEachRead { throw CloudError(.cloudUnavailable, at: "cloud", "it is not mounted") }
        await list.load()
        #expect(list.shown.state == .inactive && list.shown.failure?.code == .cloudUnavailable && list.shown.failure?.isRetryable == true)
        cloud.beforeEachRead(nil)
        // It was never loaded, so the next appearance of the screen tries again.
        await list.load()
        #expect(list.shown.state == .success && list.shown.failure == nil)
        cloud.beforeEachRead { throw CloudError(.cloudUnavailable, at: "cloud", "it is not mounted") }
        await list.reload()
        #expect(list.shown.state == .success && list.shown.projects.count == 2 && list.shown.failure != nil)
    }

    @Test func trackerFollowsPublicationAndRemoval() async throws {
        let cloud = SharingCloud()
        let tracker = SharedProjectTracker(of: "garden", in: ProjectSharing(cloud, device: "anna"))
        #expect(tracker.shown.status == .checking)
        await tracker.check()
        #expect(tracker.shown.status == .absent)
        let draft = ProjectDraft(id: "garden", title: "Garden")
        await tracker.publish(draft, owner: "Anna")
        #expect(tracker.shown.status == .exists && tracker.shown.failure == nil)
        let other = SharedProjectTracker(of: "garden", in: ProjectSharing(cloud, device: "ben"))
        await other.remove()
        #expect(other.shown.status == .exists && other.shown.failure?.code == .permissionFailure)
        await tracker.remove()
        #expect(tracker.shown.status == .absent)
        cloud.beforeEachRead { throw CloudError(.cloudUnavailable, at: "cloud", "it is not mounted") }
        await tracker.check()
        #expect(tracker.shown.status == .checking && tracker.shown.failure?.code == .cloudUnavailable)
    }

    @Test func threadShowsAPostedCommentAtOnceAndOthersWhenReloaded() async throws {
        let cloud = try await cloud(projects: 1)
        let thread = CommentThread(on: "p0", in: ProjectSharing(cloud, device: "ben"))
        await thread.load()
        #expect(thread.shown.state == .noResults)
        try await thread.post("mine", by: "Ben")
        #expect(thread.shown.state == .success && thread.shown.comments.map(\.text) == ["mine"])
        try await ProjectSharing(cloud, device: "anna").post("yours", by: "Anna", on: "p0")
        #expect(thread.shown.comments.count == 1)
        await thread.reload()
        #expect(thread.shown.comments.map(\.text) == ["mine", "yours"])
    }

    @Test func everyWatcherGetsThePresentValueAndTheLast() async throws {
        let value = ObservedValue(1)
        var early = value.values().makeAsyncIterator()
        #expect(await early.next() == 1)
        for number in 2...50 { value.change { $0 = number } }
        var late = value.values().makeAsyncIterator()
        #expect(await early.next() == 50)
        #expect(await late.next() == 50)
    }
}
