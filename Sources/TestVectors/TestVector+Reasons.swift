extension TestVector {
    /// Why this behaviour is correct: the section of a standard, or the practical consequence.
    package var reason: String { ownReason ?? Self.reasons[name] ?? Self.usualReason }

    /// The reason for test vectors without an entry of their own.
    private static let usualReason =
        "Providers export such files today. A consumer that rejects them locks its user out of mail and websites."

    private static let names =
        "RFC 7292, 4.2: names are for people. A consumer that fails on a name loses the key."
    private static let validity =
        "RFC 5280, 6.1.3 (a)(2): every certificate of the path must be valid at the time."
    private static let issuing =
        "RFC 5280, 6.1.3: each certificate must be signed with the key of its issuer."
    private static let archiveNames =
        "CVE-2018-1000544 and similar: an entry name that is used as a path can overwrite files elsewhere."
    private static let archiveSizes =
        "PKWARE APPNOTE, 4.4: a reader that trusts the headers reads past the data or exhausts the memory."
    private static let emptyHanded =
        "A user who sees a success message but has no identity blames mail programs and websites."
    private static let structure =
        "RFC 7292, 4: the file is one PFX. Asking for the password again does not repair it."

    private static let reasons: [String: String] = [
        "expired": validity, "not-yet-valid": validity, "reversed-validity": validity,
        "expired-issuer": validity,
        "revoked": "RFC 5280, 6.1.3 (a)(3): a certificate on its issuer's revocation list is not trusted.",
        "untrusted-root": issuing, "missing-intermediate": issuing, "broken-signature": issuing,
        "issued-by-user":
            "RFC 5280, 6.1.4 (k): an issuing certificate must be marked as an authority's.",
        "self-signed": "RFC 5280, 6.1: a path ends at a trust anchor, and this certificate is not one.",
        "wrong-key-usage": "RFC 5280, 4.2.1.3: the key may sign certificates but not messages.",
        "no-key-usage": "RFC 5280, 4.2.1.3: without the extension, every use is allowed.",
        "signs-and-enciphers":
            "RFC 5280, 4.2.1.12: the key usage identifies a device certificate, but the purposes do not fit one.",
        "wrong-extended-key-usage": "RFC 5280, 4.2.1.12: the purposes do not include e-mail protection.",
        "unknown-critical-extension":
            "RFC 5280, 4.2: a certificate with an unknown critical extension must be rejected.",
        "weak-rsa-1024": "NIST SP 800-131A: RSA keys shorter than 2,048 bits are disallowed.",
        "sha1-signature":
            "NIST SP 800-131A: signatures with SHA-1 are disallowed. A collision costs a few thousand dollars.",
        "piv-with-email":
            "Purebred's rules check the e-mail address first, and the purposes do not fit a signature certificate.",
        "upn-missing": "Windows logon requires the name, but the certificate is valid without it.",
        "fascn-bad-check":
            "FIPS 201 requires a FASC-N in the certificate, but only door readers depend on it.",
        "fascn-other-person": "The names disagree, and a program cannot decide which is correct.",
        "upn-other-person": "The names disagree, and a program cannot decide which is correct.",
        "negative-serial": "RFC 5280, 4.1.2.2 forbids it, but recommends that readers handle it gracefully.",
        "zero-serial": "RFC 5280, 4.1.2.2 forbids it, but recommends that readers handle it gracefully.",
        "long-serial": "RFC 5280, 4.1.2.2 allows 20 octets, but longer serial numbers exist.",
        "duplicate-serial":
            "A consumer that identifies certificates by issuer and serial number overwrites one with the other.",
        "large-certificate": "The sample app treats each 16 KiB of a zip entry as a whole file.",
        "key-of-another-certificate":
            "Signatures with this key never verify, for no visible reason. A consumer must compare the keys at import.",
        "two-identities":
            "RFC 7292, 4.2: a file may contain several keys. OpenSSL's PKCS12_parse returns only the first.",
        "no-identity": emptyHanded, "certificate-only": emptyHanded, "key-only": emptyHanded,
        "damaged-certificate": emptyHanded, "empty-zip": emptyHanded,
        "untied-key":
            "RFC 7292, 4.2: localKeyId is optional. The public key identifies the certificate.",
        "no-local-key-id": "RFC 7292, 4.2: localKeyId is optional. GnuTLS and Java write files without it.",
        "non-latin-name":
            "A consumer that fails on a name loses the key. CVE-2025-69419: OpenSSL wrote before a buffer if the last character was above U+07FF.",
        "emoji-name": names, "control-name": names, "long-name": names,
        "mismatch-beside-identity":
            "One defective pair must not prevent the import of the valid identity, and must be reported.",
        "octets-behind": "Windows and old versions of Java pad the objects in files.",
        "damaged-key": "The MAC has verified the password, so the password cannot be wrong.",
        "oversized-key":
            "Computing the public key occupies a processor for seconds on each attempt.",
        "other-password": "RFC 7292, 5.1: the MAC is invalid, and nothing else shows the cause.",
        "no-mac":
            "RFC 7292, 4 makes the MAC optional. Without it, changes to the file in transit are not detected.",
        "iteration-bomb": "An unchecked iteration count occupies a processor for an hour.",
        "zero-iterations": "RFC 7292, B.2: a derivation has at least one iteration.",
        "negative-iterations": "RFC 7292, B.2: a derivation has at least one iteration.",
        "trailing-zeroes": "Windows pads files with zeros, and users send them by e-mail.",
        "trailing-bytes": structure, "truncated": structure, "empty-file": structure, "garbage": structure,
        "pem-text": structure, "bare-certificate": structure,
        "flipped-bit":
            "RFC 7292, 5.1: the MAC is invalid. A damaged file cannot be distinguished from a wrong password.",
        "zip-broken-entry":
            "One defective file must not prevent the import of the other files, and must be reported.",
        "zip-other-password":
            "One defective file must not prevent the import of the other files, and must be reported.",
        "zip-slip": archiveNames, "zip-absolute-name": archiveNames, "zip-backslash-name": archiveNames,
        "zip-drive-name": archiveNames, "zip-nul-name": archiveNames, "zip-symlink": archiveNames,
        "zip-control-name": "A printed name with control characters controls the user's terminal.",
        "zip-duplicate-name":
            "SampleKeyProvider2025 writes such archives if two authorities issued the same serial number, and its consumer imports every entry. A consumer that writes files under entry names must reject them.",
        "zip-case-duplicate":
            "On systems that ignore letter case, one file would overwrite the other. A consumer that writes no files loses nothing.",
        "zip-lying-size": archiveSizes, "zip-bomb": archiveSizes, "zip-overlap": archiveSizes,
        "zip-encrypted":
            "PKWARE APPNOTE, 6: the password of the files is not the entry's, and guessing is pointless.",
        "zip-wrong-checksum": "PKWARE APPNOTE, 4.4.7: the data differ from the data that were packed.",
        "zip-truncated": "PKWARE APPNOTE, 4.3.16: an archive without its directory is incomplete.",
        "absent-password":
            "RFC 7292, B.1: an absent password has no octets, and the empty one has a terminator. Both occur.",
        "non-ascii-password": "RFC 7292, B.1: the password is a BMPString. Java cannot open such files.",
        "long-password": "Generated passwords are long, and fixed buffers are short.",
        "ber":
            "RFC 7292, 5.1 permits BER. NSS and Bouncy Castle write it, and a DER-only reader cannot open their files.",
        "nested-safes": "RFC 7292, 4.2.6: a safe may contain safes.",
        "plain-key": "RFC 7292, 4.2.1: a key bag in an encrypted safe is not encrypted again.",
        "keys-first": "RFC 7292, 4.1 does not define the order of the safes. Windows writes keys first.",
        "one-safe": "RFC 7292, 4.1: keys and certificates may share a safe.",
        "certificates-in-clear":
            "RFC 7292, 4.1: safes may be unencrypted. SampleKeyProvider2025 exports certificates unencrypted, and Java does so on request.",
        "iterations-1": "RFC 7292, 4: the count is omitted if it is 1, as in every public Purebred sample.",
        "iterations-1999": "A writer may choose any count, not only a power of two.",
        "gnutls-style": "The format of GnuTLS: AES-128 and 600,000 iterations.",
        "nss-style":
            "The format of Firefox: AES-256 for the key, AES-128 for the certificate, and 600,000 iterations.",
        "java-style": "The format of keytool: AES-256 and 10,000 iterations.",
        "recovered-keys": "Old mail needs old keys, and the key of an expired certificate still decrypts it.",
    ]
}
