package import ArgumentParser
import Platform
import StrictText

/// A command line that says too little or too much, with the usage of the command that it is about. The parser itself, where it does not find the
/// mistake, shows the usage of the whole program.
package struct UsageError: Error, CustomStringConvertible {
    private let message: String
    private let command: any ParsableCommand.Type

    /// - Parameters:
    ///   - message: a sentence; control characters in it are written out.
    ///   - command: the program itself, or one of its commands.
    package init(_ message: String, of command: any ParsableCommand.Type) { (self.message, self.command) = (message, command) }

    /// How a command is typed: `snapsync zone approve`.
    package static func name(of command: any ParsableCommand.Type) -> String {
        func path(_ current: any ParsableCommand.Type) -> [String]? {
            let name = current.configuration.commandName ?? ""
            if current == command { return [name] }
            return current.configuration.subcommands.lazy.compactMap(path).first.map { [name] + $0 }
        }
        return path(Program.root)?.joined(separator: " ") ?? "snapsync"
    }

    /// In the form in which the parser writes its own mistakes.
    package var description: String {
        """
        Error: \(VisibleText.escape(message))
        \(Program.wrapped("Usage: " + Program.root.usageString(for: command)))
          See '\(Self.name(of: command)) --help' for more information.

        """
    }

    /// Prints it and ends the program, as a mistake that the parser finds does.
    package func exit() -> Never {
        Self.exit(message, of: Self.name(of: command), text: description)
    }

    /// Prints a mistake as a JSON object if the arguments ask for one, else as `text`, and ends the program.
    package static func exit(_ message: String, of command: String, text: String) -> Never {
        let isJSON = ProgramArguments.words.contains { $0.exact == "--json".exact }
        let json = isJSON ? try? Printer.json(ErrorDocument(usage: message, of: command)) + "\n" : nil
        // Where even this cannot be written, the exit code must do.
        try? StandardStream.error.write(json ?? text)
        return Program.root.exit(withError: ExitCode.validationFailure)
    }
}
