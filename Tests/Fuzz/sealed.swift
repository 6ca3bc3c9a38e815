@testable import CloudStore
import Foundation
import Sealing
import StrictText

/// Records and messages of a sealed zone: the input as what a member has sealed, and as what stands in the store.
func fuzz(_ bytes: UnsafeRawBufferPointer) {
    let keys = FuzzSealed.boxes
    if let box = try? keys.seal(Data(bytes), kind: .record, dataset: "notes_data") {
        let record = CloudRecord(type: "Notes", name: "notes_data", fields: ["sealed": .bytes(Data(box))])
        if let opened = try? record.opened(by: keys, at: "record") {
            expect(opened.assets.isEmpty, "a record names no asset that the store does not see")
            expect((try? opened.sealed(by: keys).opened(by: keys, at: "again"))?.fields == opened.fields, "a record that is sealed again is the same")
        }
    }
    if let record = StrictJSON.plain(RecordDocument.self, bytes)?.record(tag: "1") {
        expect(!record.isSealed || record.mayStandInSealedZone, "what is sealed may stand there")
        if let opened = try? record.opened(by: keys, at: "record") {
            expect(record.mayStandInSealedZone, "only what may stand there is opened")
            expect(Set(opened.assets) == Set(record.assets), "the store sees the assets")
        }
    }
    let id = "000645a1d3f0c2b19c07000000000001"
    if let box = try? keys.seal(Data(bytes), kind: .message, dataset: "watch/\(id)") {
        let body = Data("{\"sealed\":\"\(Data(box).base64EncodedString())\"}".utf8)
        let message = CloudMessage(id: id, sender: "watch", body: body)
        if let opened = try? SealedMessage.open(message, by: keys) {
            expect(opened.body.elementsEqual(bytes) && (try? opened.body.withUnsafeBytes { try StrictJSON.check($0) }) != nil, "what was sealed is strict JSON")
            expect((try? SealedMessage.seal(opened, by: keys))?.body == body, "equal messages are equal files")
        }
        expect((try? SealedMessage.open(CloudMessage(id: id, sender: "other", body: body), by: keys)) == nil, "a message has one sender")
    }
    _ = try? SealedMessage.open(CloudMessage(id: id, sender: "watch", body: Data(bytes)), by: keys)
}
