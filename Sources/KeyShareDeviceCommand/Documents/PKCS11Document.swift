/// The JSON document of `pkcs11`: the commands that connect a program to the persistent token.
package struct PKCS11Document: Codable, Sendable {
    /// The program, as given with `--for`; nil if only the path was requested.
    package let client: String?
    /// The path of the PKCS #11 module.
    package let module: String
    /// Shell commands, in which the user replaces the words in capitals. Contains only the path if no program was
    /// given.
    package let lines: [String]

    /// Creates the document with the commands for a program, or with only the path if `client` is nil.
    package init(client: String?, module: String, lines: [String]) {
        self.client = client
        self.module = module
        self.lines = lines
    }
}
