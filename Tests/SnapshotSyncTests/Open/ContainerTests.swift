import Foundation
import SnapshotModel
import StrictText
import TestSupport
import Testing

/// An application makes, reads and publishes containers as Swift values. docs/embedding.md shows the same code.
@Suite struct ContainerTests {
    private typealias Notification = SnapshotModel.Notification

    /// A writer and a reader with a directory between them.
    private struct Devices {
        let scratch: ScratchDirectory

        init() async throws {
            scratch = try ScratchDirectory()
            for (name, role) in [("desk", SyncRole.writer), ("phone", .reader)] {
                _ = try await SyncEngine.setUp(
                    SetupRequest(database: path(name), cloud: scratch.path("cloud"), role: role, device: name, createsTables: true, enables: true))
            }
            try shell("desk").run(
                """
                INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('b', 'Work', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z');
                INSERT INTO notifications(id, title, createdAt, updatedAt, bucketId, attachments, actions, tapAction) VALUES
                    ('n1', 'one', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 'b', '[{"mediaType":"IMAGE","size":1.50}, 7]',
                     '[{"type":"DELETE"},{"type":"NAVIGATE","value":42,"destructive":1,"colour":"red"},null]', '{"type":"OPEN"}'),
                    ('n2', 'two', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 'b', '{}', '"none"', '[]');
                """)
        }

        func path(_ name: String) -> String { scratch.path("\(name).db") }
        func engine(_ name: String) throws -> SyncEngine { try SyncEngine(database: path(name)) }
        func shell(_ name: String) -> SQLiteShell { SQLiteShell("\(name).db", in: scratch.path, isProgram: true) }
    }

    @Test func whatAnApplicationWritesIsDecoded() async throws {
        let devices = try await Devices()
        let container = try await devices.engine("desk").container(of: NotificationsDataContainer.self)
        #expect(container.notifications.map(\.id) == ["n1", "n2"])
        let (first, second) = (container.notifications[0], container.notifications[1])
        #expect(first.attachments == [NotificationAttachment(mediaType: "IMAGE")])
        #expect(
            first.actions == [
                NotificationAction(type: "DELETE", destructive: false), NotificationAction(type: "NAVIGATE", value: "42", destructive: true),
            ])
        #expect(first.tapAction == NotificationAction(type: "OPEN", destructive: false))
        #expect(second.attachments.isEmpty && second.actions.isEmpty && second.tapAction == nil)
        // The asset that an export writes decodes, too.
        let version = try #require(try await devices.engine("desk").sync().exported?.version)
        let read = try await devices.engine("phone").inspector().container(of: NotificationsDataContainer.self, version: version)
        #expect(read.notifications == container.notifications)
    }

    @Test func aChangedContainerIsPublishedAndLosesNothing() async throws {
        let devices = try await Devices()
        let desk = try devices.engine("desk")
        _ = try await desk.sync()
        let before = try await desk.container(of: NotificationsDataContainer.self)
        #expect(try await desk.publish(before).published == false)

        let (first, second) = (before.notifications[0], before.notifications[1])
        let read = Notification(
            id: first.id, title: "ONE", readAt: "2026-02-01T00:00:00Z", createdAt: first.createdAt, updatedAt: "2026-02-01T00:00:00Z", bucketId: first.bucketId,
            attachments: [], actions: first.actions, tapAction: first.tapAction)
        let new = Notification(
            id: "n3", title: "three", createdAt: second.createdAt, updatedAt: second.updatedAt, bucketId: "b",
            actions: [NotificationAction(type: "DELETE", destructive: true)])
        let report = try await desk.publish(NotificationsDataContainer(notifications: [read, second, new], syncTimestamp: "2999-01-01T00:00:00Z"))
        #expect(report.published && report.version == 2)

        _ = try await devices.engine("phone").sync()
        for name in ["desk", "phone"] {
            let rows = try devices.shell(name).run("SELECT id, title, readAt, attachments, actions, tapAction FROM notifications ORDER BY id").split(
                separator: "\n")
            #expect(rows.count == 3)
            // The attachments were changed; of the actions nothing was, so their text stays to the last member.
            #expect(
                rows.first
                    == #"n1|ONE|2026-02-01T00:00:00Z|[]|[{"type":"DELETE"},{"type":"NAVIGATE","value":42,"destructive":1,"colour":"red"},null]|{"type":"OPEN"}"#
            )
            #expect(rows.dropFirst().first == #"n2|two||{}|"none"|[]"#)
            #expect(rows.last == #"n3|three||[]|[{"destructive":true,"type":"DELETE"}]|"#)
            #expect(try devices.shell(name).run("SELECT name FROM buckets") == "Work\n")
        }
    }

    @Test func anEmptyContainerEmptiesItsDatasetAlone() async throws {
        let devices = try await Devices()
        let desk = try devices.engine("desk")
        _ = try await desk.sync()
        let report = try await desk.publish(NotificationsDataContainer(notifications: [], syncTimestamp: "2999-01-01T00:00:00Z"))
        #expect(report.written.map(\.name) == ["notifications"])
        #expect(try await devices.engine("phone").inspector().container(of: NotificationsDataContainer.self).notifications.isEmpty)
        #expect(try await devices.engine("phone").inspector().container(of: BucketsDataContainer.self).buckets.map(\.id) == ["b"])
    }

    @Test func aContainerThatCannotBePublishedChangesNothing() async throws {
        let devices = try await Devices()
        _ = try await devices.engine("desk").sync()
        _ = try await devices.engine("phone").sync()
        let container = try await devices.engine("phone").container(of: BucketsDataContainer.self)
        func refusal(_ name: String, _ container: BucketsDataContainer) async throws -> SyncError.Code? {
            do {
                _ = try await devices.engine(name).publish(container)
                return nil
            } catch let error as SyncError {
                return error.code
            }
        }
        #expect(try await refusal("phone", container) == .refused)
        let bucket = try #require(container.buckets.first)
        #expect(try await refusal("desk", BucketsDataContainer(buckets: [bucket, bucket], syncTimestamp: "2999-01-01T00:00:00Z")) == .dataRefused)
        #expect(try await refusal("desk", BucketsDataContainer(buckets: [], syncTimestamp: "yesterday")) == .dataRefused)
        #expect(try devices.shell("desk").run("SELECT count(*) FROM buckets") == "1\n")
        #expect(try await devices.engine("desk").sync().exported?.published == false)
    }
}
