import ArgumentParser

/// A length of time on the command line: a number and `s`, `m`, `h`, `d` or `w`, as in `7d`.
struct AgeArgument: ExpressibleByArgument {
    let duration: Duration

    init?(argument: String) {
        let seconds: [Character: Int] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
        guard let unit = argument.last.flatMap({ seconds[$0] }), let count = Int(argument.dropLast()), (0...1_000_000).contains(count) else { return nil }
        duration = .seconds(count * unit)
    }
}
