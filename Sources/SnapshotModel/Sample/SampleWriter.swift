/// Collects the columns of one generated entity and passes them to a sink.
struct SampleWriter {
    private enum Column {
        case null
        case integer(Int64)
        case text(Range<Int>)
        case json(Range<Int>)
    }

    private var text: SampleText
    private var columns: [Column] = []

    var random: SeededGenerator {
        get { text.random }
        set { text.random = newValue }
    }

    init(random: SeededGenerator, vocabulary: SampleVocabulary) {
        text = SampleText(random: random, vocabulary: vocabulary)
    }

    mutating func begin() {
        text.bytes.removeAll(keepingCapacity: true)
        columns.removeAll(keepingCapacity: true)
    }

    mutating func null() { columns.append(.null) }

    mutating func text(percent: Int = 100, _ build: (inout SampleText) -> Void) {
        columns.append(built(percent, build).map { .text($0) } ?? .null)
    }

    mutating func json(percent: Int = 100, _ build: (inout SampleText) -> Void) {
        columns.append(built(percent, build).map { .json($0) } ?? .null)
    }

    /// A boolean that has a value in `percent` of all entities and is true in `chance` percent of those.
    mutating func boolean(percent: Int, true chance: Int) {
        columns.append(text.random.happens(percent: percent) ? .integer(text.random.happens(percent: chance) ? 1 : 0) : .null)
    }

    private mutating func built(_ percent: Int, _ build: (inout SampleText) -> Void) -> Range<Int>? {
        guard percent == 100 || text.random.happens(percent: percent) else { return nil }
        let start = text.bytes.count
        build(&text)
        return start..<text.bytes.count
    }

    func end(_ sink: any EntitySink) throws {
        try text.bytes.withUnsafeBytes { bytes in
            // SAFETY: the slices point into `bytes`, which is valid until the sink returns.
            let values = columns.map { column -> ColumnValue in
                switch column {
                case .null: .null
                case .integer(let value): .integer(value)
                case .text(let range): .text(UnsafeRawBufferPointer(rebasing: bytes[range]))
                case .json(let range): .json(UnsafeRawBufferPointer(rebasing: bytes[range]))
                }
            }
            try values.withUnsafeBufferPointer { try sink.take($0) }
        }
    }
}
