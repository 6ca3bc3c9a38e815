import Sealing

/// The keys of the fuzzers' sealed zones, as Fixtures/sealed-1 has them.
enum FuzzKeys {
    /// The keys of the first two epochs of a zone.
    static func boxes(cloud: String, zone: String, isPadded: Bool = false) -> BoxKeys {
        do { return try BoxKeys(cloud: cloud, zone: zone, epochs: [secret(1), secret(2)], isPadded: isPadded) } catch {
            fatalError("no keys for \(zone) of \(cloud): \(error)")
        }
    }

    static func secret(_ number: UInt32) -> EpochSecret { EpochSecret(number: number, bytes: (0..<32).map { UInt8(number - 1) &* 32 &+ $0 })! }
}
