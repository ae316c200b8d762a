package import SecretMemory
internal import COpenSSL

extension PKCS12 {
    /// Creates a file with one identity: the certificate and `chain` in one safe, the key in another.
    ///
    /// The bags of the key and the certificate both have the friendly name and a localKeyID. The localKeyID is the
    /// SHA-1 of the certificate, as in files of OpenSSL. `read` opens the file with the same password.
    ///
    /// - Parameters:
    ///   - privateKey: The key.
    ///   - certificate: The certificate of the key.
    ///   - chain: Further certificates, in the order in which to write them; ignored if the profile includes no chain.
    ///   - friendlyName: The name on key and certificate; nil for no name.
    ///   - password: The password in UTF-8; it may be empty. A profile that uses the empty password ignores it.
    ///   - profile: Encryption, MAC, iterations, and whether to write the chain.
    ///   - random: Returns the given number of random octets, for salts and initialization vectors.
    /// - Returns: The file in DER.
    /// - Throws: `keyMismatch` if the certificate is for another key, `refused` for iterations outside
    ///   `PKCS12Limits.standard` or a zero byte in the password, `malformed` for a password that is not UTF-8,
    ///   `unsupportedAlgorithm` if OpenSSL lacks an algorithm of the profile.
    package static func create(
        privateKey: PrivateKey, certificate: Certificate, chain: [Certificate] = [], friendlyName: String?,
        password: SecretBytes, profile: PKCS12Profile,
        random: (Int) throws(OpenSSLError) -> [UInt8] = systemRandom
    ) throws(PKCS12Error) -> [UInt8] {
        guard privateKey.matches(certificate) else { throw PKCS12Error(.keyMismatch) }
        let counts = 1...PKCS12Limits.standard.iterations
        guard counts ~= profile.iterations, counts ~= profile.macIterations else {
            throw .refused(.iterations)
        }
        if !profile.usesEmptyPassword {
            guard !password.hasZeroByte else { throw .refused(.passwordWithZeroByte) }
            guard password.transcodedToUTF16() != nil else {
                throw .malformed("the password", expected: "UTF-8")
            }
        }
        var builder = PKCS12FileBuilder(profile)
        builder.add(certificate, privateKey, friendlyName: friendlyName)
        if profile.includesChain {
            builder.certificates += chain.map { ($0.der, PKCS12FileBuilder.Attributes()) }
        }
        do {
            return try builder.file(password: password, random: random)
        } catch let error as PKCS12Error {
            throw error
        } catch {
            throw PKCS12Error(
                .unsupportedAlgorithm(oid: "", name: profile.name.rawValue),
                reason: "the file could not be written", cause: error as? OpenSSLError)
        }
    }

    /// Returns `count` octets from OpenSSL's random source.
    ///
    /// - Throws: `OpenSSLError` if the source fails.
    package static func systemRandom(_ count: Int) throws(OpenSSLError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        guard unsafe RAND_bytes(&bytes, CInt(count)) == 1 else { throw .draining("reading random octets") }
        return bytes
    }
}
