/// The words of sample texts. Common words come first and are chosen as often as in real texts (Zipf's law).
struct SampleVocabulary {
    private let words: [[UInt8]]
    /// A lookup table for choosing by weight, made once, because a million texts need some twenty words each.
    private let draws: [UInt16]

    init(random: inout SeededGenerator) {
        var words = Self.common.split(separator: " ").map { Array($0.utf8) }
        var seen = Set(words)
        while words.count < 8000 {
            var word: [UInt8] = []
            for _ in 0..<2 + random.below(3) { word += Self.syllables[random.below(Self.syllables.count)] }
            if seen.insert(word).inserted { words.append(word) }
        }
        // The k-th word has the weight 1 / (k + 3).
        var sums: [Double] = []
        var sum = 0.0
        for rank in 0..<words.count {
            sum += 1 / (Double(rank) + 3)
            sums.append(sum)
        }
        draws = (0..<65_536).map { index in
            let point = (Double(index) + 0.5) / 65_536 * sum
            var low = 0, high = sums.count - 1
            while low < high {
                let middle = (low + high) / 2
                if sums[middle] < point { low = middle + 1 } else { high = middle }
            }
            return UInt16(low)
        }
        self.words = words
    }

    /// A random word; common words are chosen more often.
    func word(_ random: inout SeededGenerator) -> [UInt8] { words[Int(draws[Int(random.next() >> 48)])] }

    private static let syllables =
        "ba be ca che de do fa go la le li ma me mo na no pa per ra re ri sa si so ta te ti to va ve vi ing er on an al ent tion st th"
        .split(separator: " ").map { Array($0.utf8) }

    private static let common = """
        the a to of and in is for on your you new from with has been at by it that this server backup failed completed build deploy \
        update message order delivered payment received alert door opened closed battery low temperature camera motion detected \
        meeting reminder invoice ready login attempt disk usage high error warning test success release version package shipped \
        review requested comment merged è un una per non con sono perché più già città così lunedì martedì caffè università \
        consegna pagamento ricevuto ordine spedito aggiornamento disponibile promemoria riunione domani oggi größer schön über
        """
}
