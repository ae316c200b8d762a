package import CommandSupport

/// The JSON document of the consumer's `sign`.
package struct SignatureDocument: Codable, Sendable {
    /// The signed file, as named on the command line.
    package let file: String
    /// The file with the signed message; null if the message went to standard output.
    @Nullable package var output: String?
    /// The identity that signed.
    package let signer: IdentityDocument
    /// The token whose key signed (`kSecAttrTokenID`); null for an imported key.
    @Nullable package var tokenID: String?

    /// Creates the document for a signed message; `output` is nil if the message went to standard output.
    package init(file: String, output: String?, signer: IdentityDocument, tokenID: String?) {
        self.file = file
        self.signer = signer
        self.output = output
        self.tokenID = tokenID
    }
}
