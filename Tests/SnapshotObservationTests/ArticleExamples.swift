import CloudStore
import Observation
import ProjectSharing
import SnapshotModel
import SnapshotObservation
import SnapshotSync
import SnapshotTools
import TestSupport
import Testing

// The examples of the article in Sources/SnapshotObservation/SnapshotObservation.docc, as they stand there: ``ArticleTests`` compares them.

@MainActor func redraw(_ model: SyncModel, _ draw: @escaping @MainActor (String) -> Void) {
    withObservationTracking {
        draw(model.failure?.title ?? model.state.rawValue)
    } onChange: {
        Task { @MainActor in redraw(model, draw) }
    }
}

@MainActor func bringBackEverything(_ model: SyncModel) async -> Int {
    await model.sync()
    let lost = model.conflicts.entries
    for edit in lost { await model.conflicts.take(edit.id) }
    return lost.count
}

@MainActor func say(_ text: String, on project: SharedProjectModel, as name: String) async -> [String] {
    await project.load()
    project.comments.draft = text
    await project.comments.post(by: name)
    return project.items.map(\.title) + project.comments.comments.map(\.text)
}

/// They do what the article says.
@Suite(.timeLimit(.minutes(60))) @MainActor struct ArticleExampleTests {
    @Test func examplesOfTheArticleWork() async throws {
        let scratch = try ScratchDirectory(), cloud = MemoryCloudDatabase()
        let request = SetupRequest(database: scratch.path("app.db"), cloud: "memory", role: .writer, device: "desk", createsTables: true, enables: true)
        _ = try await SyncEngine.setUp(request, in: cloud)
        let model = SyncModel(try SyncEngine(database: request.database, cloud: cloud), language: .english)
        var drawn: [String] = []
        redraw(model) { drawn.append($0) }
        #expect(await bringBackEverything(model) == 0)
        try await Eventually.isSeen("the end is drawn") { drawn.last == "idle" && drawn.count > 1 }

        let garden = ProjectDraft(id: "garden", title: "Garden", items: [SharedItem(id: "1", title: "Dig")])
        try await ProjectSharing(cloud, device: "anna").publish(garden, owner: "Anna")
        let project = SharedProjectModel(of: "garden", in: ProjectSharing(cloud, device: "ben"), language: .english)
        #expect(await say("Lovely!", on: project, as: "Ben") == ["Dig", "Lovely!"])
    }
}
