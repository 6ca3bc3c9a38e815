/// Changes an index, and most of the time makes offsets and totals fit what it says then.
func change(_ input: [UInt8], _ random: inout FuzzRandom, _ plain: ([UInt8]) -> [UInt8]) -> [UInt8] {
    let changed = plain(input)
    return random.below(4) > 0 ? repaired(changed) : changed
}

private let labels: [[UInt8]] = ["recordCount", "size", "rawSize", "offset", "length", "rawLength", "count"].map { Array("\"\($0)\":".utf8) }

/// The number that stands in an index, its label's place in ``labels``, and where its digits are.
private struct Number {
    let label: Int
    let digits: Range<Int>
    var value: Int
}

private func repaired(_ input: [UInt8]) -> [UInt8] {
    var numbers = input.indices.filter { input[$0] == UInt8(ascii: "\"") }.compactMap { number(in: input, at: $0) }
    func sum(_ label: Int) -> Int { numbers.reduce(0) { $1.label == label ? $0 &+ $1.value : $0 } }
    let totals = [sum(6), sum(4), sum(5)]
    var offset = 0
    for index in numbers.indices {
        switch numbers[index].label {
        case 0...2: numbers[index].value = totals[numbers[index].label]
        case 3: numbers[index].value = offset
        case 4: offset = offset &+ numbers[index].value
        default: break
        }
    }
    var text: [UInt8] = []
    var position = 0
    for number in numbers {
        text += input[position..<number.digits.lowerBound] + Array(String(number.value).utf8)
        position = number.digits.upperBound
    }
    return text + input[position...]
}

private func number(in input: [UInt8], at start: Int) -> Number? {
    guard let label = labels.firstIndex(where: { input[start...].starts(with: $0) }) else { return nil }
    let begin = start + labels[label].count
    let digits = input[begin...].prefix(18).prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    guard let value = Int(String(decoding: digits, as: UTF8.self)) else { return nil }
    return Number(label: label, digits: digits.startIndex..<digits.endIndex, value: value)
}
