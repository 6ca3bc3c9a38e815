@testable import CloudStore

/// The history that sealed documents are read as part of: the one of the frozen cloud in Fixtures.
enum FuzzHistory {
    static let id = HistoryID(cloud: "9f2f3f1e-2419-4e61-9c40-90bee53aa355", zone: ZoneID("ZentikSyncZone"))
    private static let label = Array("\"number\":".utf8)

    /// The number behind the last `"number":` of a document; 1 if there is none that a name could have.
    static func number(in bytes: UnsafeRawBufferPointer) -> Int {
        let start = bytes.indices.last { bytes[$0] == label[0] && bytes[$0...].starts(with: label) }
        guard let start else { return 1 }
        let digits = bytes[(start + label.count)...].prefix(19).prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return max(1, Int(String(decoding: digits, as: UTF8.self)) ?? 1)
    }
}
