import CloudKitFacade
import Foundation
import SnapshotModel
import SnapshotSync

/// An inbox on a phone, which publishes, and on its watch, which shows it. The code of a CloudKit application needs one new line.
///
///     phone-and-watch phone DB FOLDER [BUCKETS NOTIFICATIONS]   takes the rows of two containers, and publishes
///     phone-and-watch watch DB FOLDER                           fetches, and prints what its screen shows
@main struct PhoneAndWatch {
    static func main() async throws {
        let words = CommandLine.arguments.dropFirst()
        guard words.count >= 3, let device = words.first else { return print("phone-and-watch: phone|watch DB FOLDER [BUCKETS NOTIFICATIONS]") }
        let (database, folder, files) = (words[2], words[3], Array(words.dropFirst(3)))
        let role = device == "phone" ? SyncRole.writer : .reader
        // The new line. The first call sets the database up, with the two tables.
        try CloudKitSyncManager.configure(database: database, cloud: folder, role: role, device: device, enables: true)
        role == .writer ? try await publish(files) : await show()
        // An error in words: the same text that an alert would show.
        if let error = CloudKitSyncManager.shared.lastError { print("\(device): \(PresentableError(error))") }
    }

    /// The phone. The files have what a `CKAsset` had before.
    private static func publish(_ files: [String]) async throws {
        if files.count == 2 {
            let engine = try await CloudKitSyncManager.shared.engine()
            _ = try await engine.publish(decoded(BucketsDataContainer.self, files[0]))
            // The files are older than the version that the line above published.
            _ = try await engine.publish(decoded(NotificationsDataContainer.self, files[1]), acceptsOlder: true)
        }
        await withCheckedContinuation { done in
            CloudKitSyncManager.shared.syncAllToCloudKit { success, buckets, notifications in
                if success { print("phone: \(buckets) buckets, \(notifications) notifications") }
                done.resume()
            }
        }
    }

    private static func decoded<Container: DatasetContainer>(_ type: Container.Type, _ file: String) throws -> Container {
        try JSONDecoder().decode(type, from: Data(contentsOf: URL(fileURLWithPath: file)))
    }

    /// The watch. If the folder is not available, it shows the rows that it has.
    private static func show() async {
        await withCheckedContinuation { done in
            CloudKitSyncManager.shared.fetchAllFromCloudKit { buckets, notifications in
                let names = Dictionary(uniqueKeysWithValues: buckets.map { ($0.id, $0.name) })
                for one in notifications { print("\(one.readAt == nil ? "new " : "read") \(names[one.bucketId] ?? "?"): \(one.title)") }
                done.resume()
            }
        }
    }
}
