internal import COpenSSL

/// The security identifier (SID) of a Windows account.
///
/// Windows accepts a certificate for logon only if the certificate identifies the account unambiguously ("strong
/// mapping", KB5014754). The identifier is therefore in its own extension: GeneralNames with one otherName, whose value
/// is an OCTET STRING with the identifier's text (MS-WCCE, 2.2.2.7.7.4).
package struct SecurityIdentifier: Sendable, Hashable, CustomStringConvertible {
    /// The identifier as Windows writes it, `S-1-5-21-…`.
    package let description: String

    /// The type of the extension (`szOID_NTDS_CA_SECURITY_EXT`).
    package static let extensionType = "1.3.6.1.4.1.311.25.2"
    /// The type of the otherName in the extension (`szOID_NTDS_OBJECTSID`).
    static let nameType = "1.3.6.1.4.1.311.25.2.1"
    /// The prefix of a URI in the subject's alternative names, followed by the identifier. A certificate can contain
    /// this URI instead of the extension.
    package static let uriPrefix = "tag:microsoft.com,2022-09-14:sid:"

    /// Reads the text of an identifier: revision 1, an authority below 2^48, and one to fifteen numbers below 2^32
    /// (MS-DTYP, 2.4.2.1).
    ///
    /// - Returns: Nil if the text is not an identifier.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        let areNumbers = parts.dropFirst().allSatisfy { part in
            part.utf8.allSatisfy { (0x30...0x39).contains($0) } && (1...15).contains(part.utf8.count)
        }
        guard (4...18).contains(parts.count), parts[0] == "S", parts[1] == "1", areNumbers,
            let authority = UInt64(parts[2]), authority < 1 << 48,
            parts.dropFirst(3).allSatisfy({ UInt32($0) != nil })
        else { return nil }
        description = text
    }

    /// Reads the identifier from the contents of the extension.
    ///
    /// - Returns: Nil if the contents are not GeneralNames with one otherName that holds an identifier.
    package init?(extensionValue der: [UInt8]) {
        guard
            let names = try? unsafe OpenSSLASN1.decode(
                der, as: "general names",
                { unsafe d2i_GENERAL_NAMES(nil, $0, $1) }, free: { unsafe GENERAL_NAMES_free($0) })
        else { return nil }
        defer { unsafe GENERAL_NAMES_free(names) }
        let found = unsafe OpenSSLASN1.elements(names).map {
            unsafe GeneralName(reading: $0.assumingMemoryBound(to: GENERAL_NAME.self))
        }
        guard found.count == 1, case .otherName(Self.nameType, .octetString(let octets)) = found[0] else {
            return nil
        }
        self.init(String(decoding: octets, as: UTF8.self))
    }

    /// The extension with the identifier, for use in a certificate; it is not critical.
    ///
    /// - Throws: `CertificateError.unencodable` if OpenSSL has no memory for it.
    package func certificateExtension() throws(CertificateError) -> CertificateExtension {
        let name = GeneralName.otherName(
            type: Self.nameType, value: .octetString(Array(description.utf8)))
        let names = unsafe try [name].makePointer()
        defer { unsafe GENERAL_NAMES_free(names) }
        return CertificateExtension(
            oid: Self.extensionType,
            value: unsafe OpenSSLASN1.der(names) { unsafe i2d_GENERAL_NAMES($0, $1) })
    }
}
