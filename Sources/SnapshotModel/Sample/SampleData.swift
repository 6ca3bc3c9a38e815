import StrictText

/// Generated buckets and notifications that look like real ones, the same for the same seed.
///
///     try SampleData(notifications: 150, buckets: 8, seed: 1).sendNotifications(to: applier)
///
/// Entities are generated in the order of their dates, with random keys, as an application would insert them. Memory: one entity.
package struct SampleData {
    private let notificationCount: Int
    private let bucketIDs: [OwnedValue]
    private let random: SeededGenerator

    package init(notifications: Int, buckets: Int, seed: UInt64) {
        notificationCount = notifications
        var random = SeededGenerator(seed: seed)
        bucketIDs = (0..<buckets).map { _ in OwnedValue(random.uuid()) }
        self.random = random
    }

    /// Passes the buckets to a sink, with the columns in the order of ``DatasetSchema/buckets``.
    package func sendBuckets(to sink: any EntitySink) throws {
        var random = random
        for (index, id) in bucketIDs.enumerated() {
            let time = OwnedValue(Self.start.advanced(byMicroseconds: Int64(index) * 10_000_000_000).description)
            let entity: [OwnedValue] = [
                id, OwnedValue(random.words(1...3)), OwnedValue(random.maybe(60) { $0.words(3...9) }), OwnedValue(random.maybe(80) { "#\($0.hex(6))" }),
                OwnedValue(random.maybe(50) { $0.url() }), time, time, random.maybe(97) { .integer($0.happens(percent: 3) ? 1 : 0) } ?? .null,
            ]
            try entity.lending(sink.receive)
        }
    }

    /// Passes the notifications to a sink, with the columns in the order of ``DatasetSchema/notifications``.
    package func sendNotifications(to sink: any EntitySink) throws {
        // Another stream of numbers, so that the notifications do not depend on how many numbers the buckets use.
        var first = random
        var random = SeededGenerator(seed: first.next())
        let span = 60_000_000_000_000 / Int64(max(notificationCount, 1))
        for index in 0..<notificationCount {
            let sent = Self.start.advanced(byMicroseconds: 10_000_000_000_000 + Int64(index) * span + Int64(random.below(1000)) * 1000)
            let created = sent.advanced(byMicroseconds: Int64(20 + random.below(880)) * 1000)
            let read = random.maybe(60) { created.advanced(byMicroseconds: Int64(1000 + $0.below(90_000_000)) * 1000) }
            // A few buckets get most of the notifications.
            let bucket = bucketIDs[random.below(random.below(bucketIDs.count) + 1)]
            let entity: [OwnedValue] = [
                OwnedValue(random.uuid()), OwnedValue(random.words(2...6)), OwnedValue(random.maybe(35) { $0.words(2...6) }),
                OwnedValue(random.maybe(92) { $0.words(6...32) }), OwnedValue(read?.description), OwnedValue(sent.description),
                OwnedValue(created.description), OwnedValue((read ?? created).description), bucket,
                json(random.list(percent: 40) { #"{"mediaType":"IMAGE","url":"\#($0.url())","name":"\#($0.word())"}"# }),
                json(random.list(percent: 50) { $0.action() }), random.maybe(30) { json($0.action()) } ?? .null,
            ]
            try entity.lending(sink.receive)
        }
    }

    private func json(_ text: String) -> OwnedValue { .json(Array(text.utf8)) }

    /// 2023-11-14T22:13:20Z.
    private static let start = Instant(microseconds: 1_700_000_000_000_000)
}

/// Random numbers that are the same for the same seed on every machine.
///
/// Source: SplitMix64, by Guy Steele, Doug Lea and Christine Flood (2014), with the constants of its reference version.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to `bound`, which must be positive.
    package mutating func below(_ bound: Int) -> Int {
        Int(next().multipliedFullWidth(by: UInt64(bound)).high)
    }

    /// True with that probability.
    package mutating func happens(percent: Int) -> Bool { below(100) < percent }
}

/// Random texts.
extension SeededGenerator {
    fileprivate mutating func maybe<T>(_ percent: Int, _ make: (inout SeededGenerator) -> T) -> T? {
        happens(percent: percent) ? make(&self) : nil
    }

    fileprivate mutating func hex(_ digits: Int) -> String {
        String(decoding: (0..<digits).map { _ in hexDigits[below(16)] }, as: UTF8.self)
    }

    /// A UUID of version 4, in lower case.
    fileprivate mutating func uuid() -> String { "\(hex(8))-\(hex(4))-4\(hex(3))-a\(hex(3))-\(hex(12))" }

    fileprivate mutating func word() -> String { sampleWords[below(sampleWords.count)] }

    /// A sentence that sometimes has an emoji, a quoted word, a line break or a number.
    fileprivate mutating func words(_ count: ClosedRange<Int>) -> String {
        var words = (0..<count.lowerBound + below(count.count)).map { _ in word() }
        let place = below(words.count)
        switch below(100) {
        case 0..<15: words[place] = "🔔 " + words[place]
        case 15..<22: words[place] = "\"\(words[place])\""
        case 22..<25: words[place] += "\n👩‍💻"
        case 25..<35: words[place] += " \(below(100_000))"
        default: break
        }
        return words.joined(separator: " ")
    }

    fileprivate mutating func url() -> String { "https://example.com/images/\(hex(12)).png" }

    fileprivate mutating func action() -> String {
        #"{"type":"NAVIGATE","value":"\#(url())","title":"\#(word())","icon":"sfsymbols:link","destructive":\#(happens(percent: 12))}"#
    }

    /// A JSON array that in so many of 100 cases has one element or two.
    fileprivate mutating func list(percent: Int, _ element: (inout SeededGenerator) -> String) -> String {
        let count = happens(percent: percent) ? 1 + below(2) : 0
        return "[\((0..<count).map { _ in element(&self) }.joined(separator: ","))]"
    }
}

private let hexDigits = Array("0123456789abcdef".utf8)

private let sampleWords =
    """
    the a to of and in is for on your you new from with has been at by it that this server backup failed completed build deploy \
    update message order delivered payment received alert door opened closed battery low temperature camera motion detected \
    meeting reminder invoice ready login attempt disk usage high error warning test success release version package shipped \
    review requested comment merged è un una per non con sono perché più già città così lunedì martedì caffè università \
    consegna pagamento ricevuto ordine spedito aggiornamento disponibile promemoria riunione domani oggi größer schön über
    """.split(separator: " ").map(String.init)
