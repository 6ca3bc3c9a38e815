import Foundation
import Sealing

/// Boxes of every kind: what opens is the only box of what it holds.
func fuzz(_ bytes: UnsafeRawBufferPointer) { for keys in FuzzBox.keys { fuzz(bytes, keys) } }

private func fuzz(_ bytes: UnsafeRawBufferPointer, _ keys: BoxKeys) {
    for kind in BoxKind.allCases {
        guard let contents = try? keys.opened(bytes, kind: kind, dataset: "notes_data") else { continue }
        let epoch = BoxKeys.epoch(of: bytes).flatMap { keys.sealing(inEpoch: $0) }
        let again = try? epoch?.seal(contents, kind: kind, dataset: "notes_data")
        expect(again.map { $0.elementsEqual(bytes) } ?? false, "a box that opens is the one of its contents")
        expect(BoxKind.allCases.count { (try? keys.opened(bytes, kind: $0, dataset: "notes_data")) != nil } == 1, "a box is of one kind")
        expect((try? keys.opened(bytes, kind: kind, dataset: "other_data")) == nil, "a box is of one dataset")
    }
    expect(!keys.mayBeBox(bytes) || BoxKeys.epoch(of: bytes) != nil, "what may be a box names an epoch")
    // And as contents.
    guard let box = try? keys.seal(Data(bytes), kind: .member, dataset: "notes_data") else { return expect(false, "all bytes can be sealed") }
    expect((try? keys.open(Data(box), kind: .member, dataset: "notes_data")).map { $0.elementsEqual(bytes) } ?? false, "what is sealed opens")
}

/// The zone of Fixtures/sealed-1/boxes.json, and the same with padding.
private enum FuzzBox {
    static let keys = [false, true].map { FuzzKeys.boxes(cloud: "0b0e6a6e-0000-4000-8000-000000000001", zone: "private/main", isPadded: $0) }
}
