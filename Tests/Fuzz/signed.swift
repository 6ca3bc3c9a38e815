@testable import CloudStore
import Foundation

/// Signed documents: the input as the file itself, and as the body of a commit, a report and a message that a member has signed.
func fuzz(_ bytes: UnsafeRawBufferPointer) {
    guard !bytes.isEmpty else { return }
    let id = FuzzSealed.id, own = FuzzSealed.keys
    for name in [CommitDocument.sealName, DeviceReport.sealName, MessageDocument.sealName] {
        let raw = Array(bytes)
        if let body = try? ChecksummedDocument.body(of: raw, named: name, at: "file", isSigned: true),
            (try? ChecksummedDocument.verifySignature(of: raw, named: name, by: own.publicKeys.signing, at: "file")) != nil
        {
            expect((try? ChecksummedDocument.seal(Data(body), named: name, by: own)) == raw, "a body has one signed document")
        }
        guard let signed = try? ChecksummedDocument.seal(Data(bytes), named: name, by: own) else { return expect(false, "all bytes can be signed") }
        expect(
            (try? ChecksummedDocument.body(of: signed, named: name, at: "file", isSigned: true)).map { $0.elementsEqual(bytes) } ?? false, "the body is there")
        expect((try? ChecksummedDocument.body(of: signed, named: name, at: "file")) == nil, "a signed document counts in no other zone")
        expect(
            (try? ChecksummedDocument.body(of: ChecksummedDocument.seal(Data(bytes), named: name), named: name, at: "file", isSigned: true)) == nil,
            "nor another one here")
        for position in [signed.count / 2, signed.count - 100] where (try? ChecksummedDocument.body(of: signed, named: name, at: "file", isSigned: true)) != nil
        {
            var changed = signed
            changed[position] ^= 1
            let isWhole = (try? ChecksummedDocument.body(of: changed, named: name, at: "file", isSigned: true)) != nil
            let isSigned = (try? ChecksummedDocument.verifySignature(of: changed, named: name, by: own.publicKeys.signing, at: "file")) != nil
            expect(!isWhole || !isSigned, "no byte can be changed")
        }
    }
    if let signed = try? ChecksummedDocument.seal(Data(bytes), named: CommitDocument.sealName, by: own),
        let verified = try? VerifiedCommit(signed, number: FuzzHistory.number(in: bytes), of: id)
    {
        expect(verified.commit.saved.allSatisfy(\.mayStandInSealedZone), "a sealed zone has sealed records")
    }
    if let signed = try? ChecksummedDocument.seal(Data(bytes), named: DeviceReport.sealName, by: own) {
        _ = try? DeviceReport(signed, of: "watch", at: "report")
    }
    if let signed = try? ChecksummedDocument.seal(Data(bytes), named: MessageDocument.sealName, by: own) {
        let name = CloudMessageName(sender: "watch", id: "000645a1d3f0c2b19c07000000000001")
        expect((try? MessageDocument.decode(signed, name, of: id, at: "message")) == nil, "no message counts where nobody is known")
    }
}
