/// The JSON document of the consumer's `sign`.
package struct SignatureDocument: Codable, Sendable {
    /// The file that was signed, as it was named.
    package let file: String
    /// The signed mail; null where it was not written to a file.
    @Nullable package var output: String?
    /// The identity that signed.
    package let signer: IdentityDocument
    /// The token whose key signed (`kSecAttrTokenID`); null where an imported key did.
    @Nullable package var tokenID: String?

    /// Describes a signature.
    package init(file: String, output: String?, signer: IdentityDocument, tokenID: String?) {
        self.file = file
        self.signer = signer
        self.output = output
        self.tokenID = tokenID
    }
}
