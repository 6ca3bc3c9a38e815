import CloudStore

/// A process that ends while it removes files: some are gone, the others are not.
struct InterruptedRemoval: CloudLayer {
    struct Killed: Error {}

    let cloud: CloudDatabase
    /// How many files go before the process ends.
    let removable: Int

    func willCall(_ call: CloudCall, in zone: ZoneID?) async throws {
        guard case .remove(let files) = call, let zone else { return }
        // In the order that the contract gives: commits oldest first, then the rest.
        func order(_ file: StoredFile) -> Int { if case .commit(let number) = file.kind { number } else { .max } }
        let ordered = files.sorted { (order($0), $0.path) < (order($1), $1.path) }
        guard ordered.count > removable else { return }
        try await cloud.remove(Array(ordered.prefix(removable)), by: "writer", in: zone)
        throw Killed()
    }
}
