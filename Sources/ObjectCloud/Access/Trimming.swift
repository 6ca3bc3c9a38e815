extension StringProtocol {
    /// The text without these ASCII characters at both ends.
    ///
    /// Foundation's `trimmingCharacters(in:)` goes through UTF-16. Its first call costs a run as much as a request to a near server.
    func trimming(_ characters: String) -> String {
        let text = String(self).utf8, isInner = { (byte: UInt8) in !characters.utf8.contains(byte) }
        guard let first = text.firstIndex(where: isInner), let last = text.lastIndex(where: isInner) else { return "" }
        return String(Substring(text[first...last]))
    }
}
