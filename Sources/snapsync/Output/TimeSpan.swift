import ArgumentParser
import StrictText

/// A time span on the command line: a whole number and `ms`, `s`, `m`, `h`, `d` or `w`.
struct TimeSpan: ExpressibleByArgument, CustomStringConvertible {
    let duration: Duration
    let description: String

    init(_ duration: Duration, _ description: String) { (self.duration, self.description) = (duration, description) }

    init?(argument: String) {
        let units: [(String, Int64)] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 604_800_000)]
        guard let (unit, factor) = units.first(where: { argument.exact.hasSuffix($0.0) }), let count = Int64(argument.dropLast(unit.count)),
            (0...Self.most).contains(count)
        else { return nil }
        duration = .milliseconds(count * factor)
        description = argument
    }

    var defaultValueDescription: String { description }

    private static let most: Int64 = 1_000_000
}

/// A size on the command line: bytes, or a whole number and `kB`, `MB` or `GB`, powers of 1000.
struct ByteCount: ExpressibleByArgument, CustomStringConvertible {
    let value: Int

    init(_ value: Int) { self.value = value }

    init?(argument: String) {
        let units: [(String, Int)] = [("kB", 1000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("B", 1)]
        let (unit, factor) = units.first { argument.exact.hasSuffix($0.0) } ?? ("", 1)
        guard let count = Int(argument.dropLast(unit.count)), count > 0, count <= 1_000_000_000_000 / factor else { return nil }
        value = count * factor
    }

    var description: String {
        for (unit, factor) in [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1000)] where value % factor == 0 { return "\(value / factor)\(unit)" }
        return "\(value)"
    }

    var defaultValueDescription: String { description }
}
