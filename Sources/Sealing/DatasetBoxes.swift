package import Foundation

/// The keys of a sealed zone for the assets of one dataset: what seals and opens members, and where blocks are cut.
///
///     let boxes = DatasetBoxes(keys, dataset: "notes_data")
///     let member = try boxes.open(bytes, kind: .member)
package struct DatasetBoxes: Sendable {
    /// The keys of the zone.
    package let keys: BoxKeys
    /// The name of the dataset's record, which is that of its folder of assets.
    package let dataset: String

    package init(_ keys: BoxKeys, dataset: String) {
        self.keys = keys
        self.dataset = dataset
    }

    /// The same for each epoch, sealing in it, the newest first: for making a box again that was lost.
    package var allEpochs: [DatasetBoxes] {
        keys.epochNumbers.reversed().compactMap { keys.sealing(inEpoch: $0) }.map { DatasetBoxes($0, dataset: dataset) }
    }

    /// The key of the cut rule.
    package var cutKey: CutKey { keys.cutKey }

    /// The box of some bytes in the newest epoch.
    package func seal(_ bytes: some ContiguousBytes, kind: BoxKind) throws(BoxError) -> [UInt8] {
        try keys.seal(bytes, kind: kind, dataset: dataset)
    }

    /// Hands the pieces of the box of a member to `write`, in order.
    package func sealMember(_ bytes: UnsafeRawBufferPointer, write: (UnsafeRawBufferPointer) -> Void) throws(BoxError) {
        try keys.seal(bytes, kind: .member, dataset: dataset, write: write)
    }

    /// What a box holds.
    package func open(_ box: UnsafeRawBufferPointer, kind: BoxKind) throws(BoxError) -> Data {
        try keys.opened(box, kind: kind, dataset: dataset)
    }
}
