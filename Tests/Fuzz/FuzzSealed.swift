@testable import CloudStore
import Sealing

/// The history of the frozen sealed zone, with keys of the fuzzers' own: behind a signature and a box, parsers get what a member could write.
enum FuzzSealed {
    static let id = HistoryID(cloud: "bb907ab5-2210-4a20-9dce-4d7d228f2b2c", zone: ZoneID("ZentikSyncZone"), protection: [.signed, .sealed])
    static let keys = DeviceKeys(signingSeed: Array(1...32), sealingSeed: Array(33...64))!
    /// The recovery code of that zone, which its page publishes.
    static let recovery = RecoveryCode(
        "safaj-vumoz-tajil-sanug-gufal-sapot-tijak-mobij-fofun-zagog-babum-majug-gupiz-varun-sotuj-donaj-mojuf-jaziv")!
    static let boxes = FuzzKeys.boxes(cloud: id.cloud, zone: id.zone.description)
}
