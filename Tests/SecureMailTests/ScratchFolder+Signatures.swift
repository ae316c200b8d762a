import TestSupport

extension ScratchFolder {
    /// Signs `content` with a new key. Writes `detached.der`, and `whole.der`, which contains the content.
    func writeSignatures(of content: [UInt8]) throws {
        _ = try write(content, as: "content")
        try shell(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout k.pem -out c.pem \
              -subj /CN=Signer -days 30
            sign="openssl cms -sign -binary -in content -outform DER -signer c.pem -inkey k.pem"
            $sign -out detached.der && $sign -nodetach -out whole.der
            """)
    }
}
