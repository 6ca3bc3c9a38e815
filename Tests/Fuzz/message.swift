@testable import CloudStore
import Foundation
import SnapshotModel
import StrictText

/// Messages behind their seal, and what a publisher reads in them; device reports, which are sealed alike.
func fuzz(_ bytes: UnsafeRawBufferPointer) {
    let name = CloudMessageName(sender: "watch", id: "000645a1d3f0c2b19c07000000000001")
    let sealed = ChecksummedDocument.seal(Data(bytes), named: MessageDocument.sealName)
    if let message = try? MessageDocument.decode(sealed, name, of: FuzzHistory.id, at: "message") {
        expect((try? message.body.withUnsafeBytes { try StrictJSON.check($0) }) != nil, "a message's body is strict JSON")
        expect((try? MessageDocument.encode(message, of: FuzzHistory.id)) != nil, "a message that is taken can be sent")
        _ = try? StrictJSON.decode(EditMessage.self, from: message.body)
    }
    _ = try? StrictJSON.decode(EditMessage.self, from: Data(bytes))
    let report = ChecksummedDocument.seal(Data(bytes), named: DeviceReport.sealName)
    _ = try? DeviceReport(report, of: "watch", at: "report")
}
