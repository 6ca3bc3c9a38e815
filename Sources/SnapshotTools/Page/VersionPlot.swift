import SnapshotEngine
import StrictText

/// Draws a ``VersionSeries``: the rows over time, and the bytes stored in each span.
///
/// The drawings stretch with the page. Their labels are separate elements, so they keep their size.
struct VersionPlot {
    let series: VersionSeries
    /// The prefix of the element ids in this plot.
    let prefix: String

    private static let (width, height) = (960.0, 120.0)

    var html: HTML {
        let bytes = series.points.map(\.byteCount).max() ?? 0, rows = series.points.map(\.rows).max() ?? 0
        return .element(.figure, .class("plot")) {
            HTML.element(.figcaption) { caption }
            panel(
                "rows", "Rows after each span",
                "Rows of all datasets together, from \(Format.count(series.points.first?.rows ?? 0)) to \(Format.count(series.points.last?.rows ?? 0)).",
                top: Format.count(rows)
            ) {
                HTML.element(.path, .class("area"), .set(.d, area(upTo: rows)))
                HTML.element(.path, .class("line"), .set(.d, line(upTo: rows)))
            }
            panel("stored", "Bytes stored in each span", "The most in one span is \(Format.bytes(bytes)).", top: Format.bytes(bytes)) {
                series.points.map { bar($0, upTo: bytes) }
            }
            HTML.element(.div, .class("times")) {
                edge(series.begin)
                edge(series.begin.advanced(byMicroseconds: Int64(series.slots) * Int64(series.seconds) * 1_000_000 - 1))
            }
            legend
        }
    }

    private var caption: HTML {
        let most = series.points.map(\.count).max() ?? 0
        return HTML.group {
            "\(Format.count(series.count, "version")) by \(Format.count(series.publishers.count, "publisher")). Each bar stands for \(length)"
            most > 1 ? ", which is up to \(Format.count(most, "version"))." : ", which is one version."
        }
    }

    /// One end of the time axis: the day, or the time of day if spans are short.
    private func edge(_ instant: Instant) -> HTML {
        series.seconds < 43_200 ? TimeText.element(instant) : .element(.time, .set(.datetime, instant.description)) { String(instant.description.prefix(10)) }
    }

    /// The length of a span, in words.
    private var length: String {
        switch series.seconds {
        case 31_536_000: "a year"
        case 2_592_000: "30 days"
        case 604_800: "a week"
        case 86_400: "a day"
        case 3600: "an hour"
        case 60: "a minute"
        default: AgeText.words(seconds: series.seconds)
        }
    }

    private func panel(_ name: String, _ title: String, _ description: String, top: String, @HTML.Builder _ content: () -> HTML) -> HTML {
        let id = "\(prefix)-\(name)"
        return .element(.div, .class("panel")) {
            HTML.element(.div, .class("scale"), .set(.hidden, "true")) {
                HTML.element(.span) { top }
                HTML.element(.span) { "0" }
            }
            HTML.element(
                .svg, .class("chart \(name)"), .set(.role, "img"), .set(.labelledBy, "\(id)-title \(id)-desc"),
                .set(.viewBox, "0 0 \(Self.number(Self.width)) \(Self.number(Self.height))"), .set(.preserveAspectRatio, "none")
            ) {
                HTML.element(.title, .id("\(id)-title")) { title }
                HTML.element(.desc, .id("\(id)-desc")) { "\(description) The figures stand in the table below." }
                HTML.element(.path, .class("grid"), .set(.d, "M0 0.5H960M0 60H960M0 119.5H960"))
                content()
            }
            HTML.element(.div, .class("name"), .set(.hidden, "true")) { title }
        }
    }

    private var step: Double { Self.width / Double(max(series.slots, 1)) }

    private func bar(_ point: VersionSeries.Point, upTo most: Int) -> HTML {
        var top = Self.height
        return .element(.g, .class("point"), .set(.versions, "\(point.count)"), .set(.bytes, "\(point.byteCount)")) {
            HTML.element(.title) { words(point) }
            point.bytes.sorted { $0.key < $1.key }.map { publisher, bytes in
                // A span with data is always visible, however small it is.
                let height = most == 0 ? 2 : max(2, Double(bytes) / Double(most) * (Self.height - 2))
                top -= height
                return HTML.element(
                    .rect, .class("p\(publisher)"), .set(.x, Self.number(Double(point.slot) * step + step * 0.1)), .set(.y, Self.number(max(0, top))),
                    .set(.width, Self.number(step * 0.8)), .set(.height, Self.number(height)))
            }
        }
    }

    /// Describes a span in words.
    func words(_ point: VersionSeries.Point) -> String {
        let versions = point.first == point.last ? "version \(point.last)" : "versions \(point.first) to \(point.last)"
        return "\(TimeText.minute(point.begin)) UTC: \(versions), \(Format.bytes(point.byteCount)), \(Format.count(point.rows, "row"))"
    }

    /// The publishers in a span.
    func publishers(of point: VersionSeries.Point) -> String {
        point.bytes.keys.sorted().map { series.publishers[$0] ?? "others" }.joined(separator: ", ")
    }

    private func line(upTo most: Int) -> String {
        var text = ""
        for point in series.points {
            let y = Self.number(level(point.rows, most)), x = Self.number((Double(point.slot) + 0.5) * step)
            text += text.isEmpty ? "M\(x) \(y)" : "H\(x)V\(y)"
        }
        return text.isEmpty ? "M0 120" : text + "H960"
    }

    private func area(upTo most: Int) -> String {
        let start = Self.number((Double(series.points.first?.slot ?? 0) + 0.5) * step)
        return "\(line(upTo: most))V120H\(start)Z"
    }

    private func level(_ rows: Int, _ most: Int) -> Double {
        most == 0 ? Self.height - 1 : Self.height - 1 - Double(max(0, rows)) / Double(most) * (Self.height - 3)
    }

    private var legend: HTML {
        guard series.publishers.count > 1 else { return HTML() }
        return .element(.ul, .class("legend")) {
            series.publishers.enumerated().map { index, name in
                HTML.element(.li) {
                    HTML.element(.svg, .class("swatch"), .set(.viewBox, "0 0 10 10"), .set(.hidden, "true")) {
                        HTML.element(.rect, .class("p\(index)"), .set(.width, "10"), .set(.height, "10"))
                    }
                    name ?? "others"
                }
            }
        }
    }

    /// Formats a coordinate with at most one decimal.
    private static func number(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(abs(tenths % 10))"
    }
}

/// Formats times of a page, in UTC.
enum TimeText {
    /// `2026-11-23 08:15`.
    static func minute(_ instant: Instant) -> String { String(instant.description.prefix(16)).replacing("T", with: " ") }

    /// A `time` element that shows the minute and holds the exact instant for programs.
    static func element(_ instant: Instant) -> HTML { .element(.time, .set(.datetime, instant.description)) { minute(instant) } }

    /// The same, for a time in the text form of reports.
    static func element(_ text: String) -> HTML { (try? Instant(parsing: text)).map(element) ?? HTML(text) }
}
