import CLinux

/// The words of the command line.
///
/// In a statically linked program Swift's `CommandLine.arguments` searches the process's memory for them, from `environ` backwards.
/// A preloaded library that calls `setenv` before the program starts moves `environ`, and the search finds nothing: every command would
/// print the help and end with 0. So they are taken as the C library hands them to constructors.
enum ProgramArguments {
    /// The words after the program's name.
    static var words: [String] {
        guard let arguments = clinux_arguments() else { return Array(CommandLine.arguments.dropFirst()) }
        var words: [String] = []
        var next = 0
        // SAFETY: the C library ends the list with NULL, and neither it nor its texts change while the process runs.
        while let word = arguments[next] {
            words.append(String(cString: word))
            next += 1
        }
        return Array(words.dropFirst())
    }
}
