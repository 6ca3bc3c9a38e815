package import CloudStore

/// The contract of a cloud: whatever its store is, it keeps these promises.
///
/// Each check gets a new, empty cloud, and its name states the promise that it checks.
package struct CloudContract: Sendable {
    private let makeCloud: @Sendable () async throws -> any DamageableCloud

    /// - Parameter makeCloud: makes a new, empty cloud without zones at each call. It is retained until its check ends.
    package init(_ makeCloud: @escaping @Sendable () async throws -> any DamageableCloud) { self.makeCloud = makeCloud }

    /// The checks, in the order in which an early failure is likely to be the cause of later ones.
    package static let checks: [ContractCheck] =
        ContractCheck.zones + ContractCheck.commits + ContractCheck.changes + ContractCheck.assets + ContractCheck.values
        + ContractCheck.saving + ContractCheck.batches + ContractCheck.fetching + ContractCheck.queries
        + ContractCheck.mailbox + ContractCheck.reports + ContractCheck.retention + ContractCheck.history + ContractCheck.storedFiles

    /// Runs one check on a new cloud.
    package func run(_ check: ContractCheck) async throws { try await check.body(ContractTest(try await makeCloud())) }
}

/// A cloud whose stored files a check can change.
package protocol DamageableCloud: Sendable {
    var cloud: CloudDatabase { get }
    /// The distance between two places of a file that a check damages; 1 damages every place in turn. Set a larger value for a slow cloud.
    var damageStride: Int { get }
    /// Changes the bytes of a file, named by its path beneath the zone. nil, before or after, stands for a file that does not exist.
    func damage(_ path: String, in zone: ZoneID, _ change: (inout [UInt8]?) -> Void) throws
}
