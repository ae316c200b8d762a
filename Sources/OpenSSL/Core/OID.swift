/// The object identifiers that the structures of RFC 7292 are made of.
package enum OID {
    package static let data = "1.2.840.113549.1.7.1"
    package static let signedData = "1.2.840.113549.1.7.2"
    package static let encryptedData = "1.2.840.113549.1.7.6"

    package static let keyBag = "1.2.840.113549.1.12.10.1.1"
    package static let shroudedKeyBag = "1.2.840.113549.1.12.10.1.2"
    package static let certBag = "1.2.840.113549.1.12.10.1.3"
    package static let crlBag = "1.2.840.113549.1.12.10.1.4"
    package static let secretBag = "1.2.840.113549.1.12.10.1.5"
    package static let safeContentsBag = "1.2.840.113549.1.12.10.1.6"

    package static let x509Certificate = "1.2.840.113549.1.9.22.1"
    package static let sdsiCertificate = "1.2.840.113549.1.9.22.2"

    package static let friendlyName = "1.2.840.113549.1.9.20"
    package static let localKeyID = "1.2.840.113549.1.9.21"
    package static let javaTrustedKeyUsage = "2.16.840.1.113894.746875.1.1"

    package static let pbes2 = "1.2.840.113549.1.5.13"
    package static let pbmac1 = "1.2.840.113549.1.5.14"
    package static let pbkdf2 = "1.2.840.113549.1.5.12"
    package static let hmacSHA256 = "1.2.840.113549.2.9"
    package static let scrypt = "1.3.6.1.4.1.11591.4.11"
}
