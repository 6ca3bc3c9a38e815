import StrictText

/// Builds texts from random words.
struct SampleText {
    var bytes: [UInt8] = []
    var random: SeededGenerator
    let vocabulary: SampleVocabulary

    /// A random UUID of version 4, in lower case.
    static func uuid(_ random: inout SeededGenerator) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(36)
        let high = random.next() & ~0xF000 | 0x4000
        let low = random.next() & ~(3 << 62) | (2 << 62)
        for (word, groups) in [(high, [8, 4, 4]), (low, [4, 12])] {
            var shift = 64
            for digits in groups {
                if !text.isEmpty { text.append(UInt8(ascii: "-")) }
                for _ in 0..<digits {
                    shift -= 4
                    text.append(hexDigits[Int((word >> UInt64(shift)) & 15)])
                }
            }
        }
        return text
    }

    mutating func uuid() { bytes += Self.uuid(&random) }

    mutating func instant(_ instant: Instant) { bytes += Array(instant.description.utf8) }

    mutating func color() {
        bytes.append(UInt8(ascii: "#"))
        for _ in 0..<6 { bytes.append(Self.hexDigits[random.below(16)]) }
    }

    /// A sentence that sometimes has an emoji, a quoted word, a line break or a number.
    mutating func words(_ count: ClosedRange<Int>) {
        let start = bytes.count
        let total = count.lowerBound + random.below(count.count)
        let emoji = random.happens(percent: 15) ? random.below(total) : -1
        let quoted = random.happens(percent: 7) ? random.below(total) : -1
        let broken = random.happens(percent: 3) ? total / 2 : -1
        for index in 0..<total {
            if index > 0 { bytes.append(UInt8(ascii: index == broken ? "\n" : " ")) }
            if index == emoji { bytes += Self.emojis[random.below(Self.emojis.count)] + [UInt8(ascii: " ")] }
            let word = vocabulary.word(&random)
            bytes += index == quoted ? [UInt8(ascii: "\"")] + word + [UInt8(ascii: "\"")] : word
        }
        if bytes[start] &- UInt8(ascii: "a") < 26 { bytes[start] -= 32 }
        if random.happens(percent: 10) { bytes += Array(" \(random.below(100_000))".utf8) }
    }

    mutating func url(ending: StaticString? = nil) {
        bytes += Array("https://".utf8) + Self.hosts[random.below(Self.hosts.count)] + [UInt8(ascii: "/")]
        bytes += vocabulary.word(&random).filter { $0 < 0x80 } + [UInt8(ascii: "/")]
        for _ in 0..<12 { bytes.append(Self.hexDigits[random.below(16)]) }
        if let ending { bytes += [UInt8(ascii: ".")] + ending.withUTF8Buffer { Array($0) } }
    }

    mutating func attachments() {
        list(counts: [0, 0, 0, 0, 0, 0, 1, 1, 1, 2]) { text in
            let (type, ending) = Self.media[text.random.below(Self.media.count)]
            text.bytes += Array("{\"mediaType\":\"\(type)\",\"url\":\"".utf8)
            text.url(ending: ending)
            text.bytes += Array("\",\"name\":\"".utf8) + text.vocabulary.word(&text.random) + Array(".\(ending)\"}".utf8)
        }
    }

    mutating func actions() {
        list(counts: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3]) { $0.action() }
    }

    mutating func action() {
        let type = Self.actionTypes[random.below(Self.actionTypes.count)]
        bytes += Array("{\"type\":\"\(type)\",\"value\":\"".utf8)
        if type.hasSuffix("LL") || type.hasPrefix("N") || type.hasPrefix("W") { url() } else { bytes += Array(type.lowercased().utf8) }
        bytes += Array("\",\"title\":\"".utf8) + vocabulary.word(&random)
        bytes += Array("\",\"icon\":\"\(Self.icons[random.below(Self.icons.count)])\",\"destructive\":\(type == "DELETE")}".utf8)
    }

    private mutating func list(counts: [Int], _ element: (inout SampleText) -> Void) {
        bytes.append(UInt8(ascii: "["))
        for index in 0..<counts[random.below(counts.count)] {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            element(&self)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    private static let hexDigits = Array("0123456789abcdef".utf8)
    private static let emojis = "🔔 ✅ ⚠️ 🚀 📦 🔥 💡 🎉 📈 🔋 🏠 📷 ❌ ☕ 🧾 👩‍💻 🇮🇹".split(separator: " ").map { Array($0.utf8) }
    private static let hosts = "example.com cdn.example.net images.example.org ci.example.dev".split(separator: " ").map { Array($0.utf8) }
    private static let media: [(String, StaticString)] = [("IMAGE", "jpg"), ("IMAGE", "png"), ("GIF", "gif"), ("VIDEO", "mp4"), ("AUDIO", "m4a")]
    private static let actionTypes = ["DELETE", "MARK_AS_READ", "SNOOZE", "OPEN_NOTIFICATION", "NAVIGATE", "BACKGROUND_CALL", "WEBHOOK", "POSTPONE"]
    private static let icons = ["sfsymbols:trash", "sfsymbols:checkmark.circle", "sfsymbols:bell.slash", "sfsymbols:link", ""]
}
