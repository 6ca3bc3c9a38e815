import Foundation
@testable import CloudStore

/// The history that sealed documents are read as part of: the one of the frozen cloud in Fixtures.
enum FuzzHistory {
    static let id = HistoryID(cloud: "9f2f3f1e-2419-4e61-9c40-90bee53aa355", zone: ZoneID("ZentikSyncZone"))

    /// The number behind the last `"number":` of a document; 1 if there is none.
    static func number(in bytes: UnsafeRawBufferPointer) -> Int {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let label = text.range(of: "\"number\":", options: .backwards) else { return 1 }
        return Int(text[label.upperBound...].prefix { $0.isASCII && $0.isNumber }.prefix(18)) ?? 1
    }
}
