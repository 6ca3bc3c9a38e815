import CloudStore
import Synchronization

/// A cloud in which the process ends while it removes files: some are gone, the others are not.
final class InterruptedCloud: CloudDatabaseDecorator {
    struct Killed: Error {}

    let wrapped: any CloudDatabase
    private let removable: Int

    /// - Parameter removable: how many files go before the process ends.
    init(wrapping cloud: any CloudDatabase, removable: Int) {
        wrapped = cloud
        self.removable = removable
    }

    func remove(_ files: [StoredFile], by device: String, in zone: ZoneID) async throws {
        // In the order that the contract gives: commits oldest first, then the rest.
        func order(_ file: StoredFile) -> Int { if case .commit(let number) = file.kind { number } else { .max } }
        let ordered = files.sorted { (order($0), $0.path) < (order($1), $1.path) }
        try await wrapped.remove(Array(ordered.prefix(removable)), by: device, in: zone)
        if ordered.count > removable { throw Killed() }
    }
}
