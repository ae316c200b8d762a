internal import Foundation

/// A shell script that failed, with its error output.
package struct ShellFailure: Error, CustomStringConvertible {
    /// The error output of the script.
    package let description: String
}

extension ScratchFolder {
    /// Runs a shell script in the folder, for example with the openssl command. The script ends at the first command
    /// that fails.
    ///
    /// - Throws: `ShellFailure` if a command fails; the error of the file system.
    package func shell(_ script: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-ec", "exec 2>errors\n" + script]
        process.currentDirectoryURL = URL(fileURLWithPath: path)
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw ShellFailure(description: String(decoding: try read("errors"), as: UTF8.self))
        }
    }
}
