/// How the decompression of one deflate stream ended.
enum InflateOutcome: Equatable {
    /// The stream ended with the input, and the output has exactly the declared length.
    case done
    /// The stream holds more than the declared length.
    case tooLong
    /// The stream holds less than the declared length.
    case tooShort
    /// Input follows the stream.
    case followed
    /// The input is no deflate stream, or it is truncated.
    case broken
}
