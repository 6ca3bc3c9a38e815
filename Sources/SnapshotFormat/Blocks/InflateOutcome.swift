/// How the decompression of one deflate stream has ended.
enum InflateOutcome: Equatable {
    /// The stream ended with the input, and the output has exactly the declared length.
    case done
    /// It holds more than the declared length.
    case tooLong
    /// It holds less.
    case tooShort
    /// Something follows it.
    case followed
    /// It is no deflate stream, or cut.
    case broken
}
