import StrictText

/// Instants as RFC 3339 says: what is read writes a text that reads as the same instant.
func fuzz(_ bytes: UnsafeRawBufferPointer) {
    guard let instant = try? Instant(parsing: bytes) else { return }
    let text = instant.description
    expect((try? Instant(parsing: text)) == instant, "an instant's text reads as that instant")
    expect(text.utf8.count == 24 || text.utf8.count == 27, "an instant's text has 3 or 6 fraction digits")
}
