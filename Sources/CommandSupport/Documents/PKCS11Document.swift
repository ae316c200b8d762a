/// The JSON document of `pkcs11`: how a program uses the persistent token.
package struct PKCS11Document: Codable, Sendable {
    /// The program, as `--for` names it; nil where the path alone was asked for.
    package let client: String?
    /// The path of the PKCS #11 module.
    package let module: String
    /// Lines for a shell, in which a word in capitals is for the user to fill in; or the path alone.
    package let lines: [String]

    /// Describes the lines for a program.
    package init(client: String?, module: String, lines: [String]) {
        self.client = client
        self.module = module
        self.lines = lines
    }
}
