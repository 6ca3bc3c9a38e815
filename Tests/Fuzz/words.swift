import CloudStore

/// Recovery codes and fingerprints, as people type them.
func fuzz(_ bytes: UnsafeRawBufferPointer) {
    let text = String(decoding: bytes, as: UTF8.self)
    if let code = RecoveryCode(text) {
        expect(RecoveryCode(code.words)?.words == code.words, "a code that is read is written as one")
        expect(code.words.split(separator: "-").count == RecoveryCode.wordCount, "a code has so many words")
        expect(!"\(code)".contains(code.words.prefix(5)), "a code is not printed by accident")
    }
    if let fingerprint = KeyFingerprint(text) {
        expect(KeyFingerprint(fingerprint.words) == fingerprint && fingerprint.words.count == 47, "a fingerprint that is read is written as one")
    }
}
