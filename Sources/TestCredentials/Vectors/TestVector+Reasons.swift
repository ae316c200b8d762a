extension TestVector {
    /// Why a correct consumer does what is expected of it: the section of a standard, or what breaks in the field.
    package var reason: String { Self.reasons[name] ?? Self.usualReason }

    /// The reason of a test vector that nothing is wrong with.
    private static let usualReason =
        "Files like it are handed out today; who refuses it locks its user out of mail and sites."

    private static let names =
        "RFC 7292, 4.2: names are for people; a consumer that trips over one loses the key."
    private static let validity =
        "RFC 5280, 6.1.3 (a)(2): every certificate of the path has to be valid at the time."
    private static let issuing =
        "RFC 5280, 6.1.3: each certificate has to be signed by the key of the one above."
    private static let archiveNames =
        "CVE-2018-1000544 and its kin: a name from an archive that becomes a path overwrites files elsewhere."
    private static let archiveSizes =
        "PKWARE APPNOTE, 4.4: headers are claims; who believes them reads past the data or fills the memory."
    private static let emptyHanded =
        "A user who is told of success and holds no identity looks for the fault in mail and sites."
    private static let structure =
        "RFC 7292, 4: the file is one PFX; a password that is asked for again and again will not mend it."

    private static let reasons: [String: String] = [
        "expired": validity, "not-yet-valid": validity, "reversed-validity": validity,
        "expired-issuer": validity,
        "revoked": "RFC 5280, 6.1.3 (a)(3): a certificate on its issuer's revocation list is not trusted.",
        "untrusted-root": issuing, "missing-intermediate": issuing, "broken-signature": issuing,
        "issued-by-user":
            "RFC 5280, 6.1.4 (k): a certificate that issues has to say that it is an authority's.",
        "self-signed": "RFC 5280, 6.1: a path ends at a trust anchor, and nobody made this certificate one.",
        "wrong-key-usage": "RFC 5280, 4.2.1.3: the key is for certificates and not for mail.",
        "no-key-usage": "RFC 5280, 4.2.1.3: without the extension every use is allowed.",
        "signs-and-enciphers":
            "RFC 5280, 4.2.1.12: the purposes do not suit a device's certificate, for which the key usage makes it pass.",
        "wrong-extended-key-usage": "RFC 5280, 4.2.1.12: the purposes leave out e-mail.",
        "unknown-critical-extension":
            "RFC 5280, 4.2: a critical extension that is not known refuses the certificate.",
        "weak-rsa-1024": "NIST SP 800-131A: RSA of fewer than 2,048 bits is disallowed.",
        "sha1-signature":
            "NIST SP 800-131A: signatures with SHA-1 are disallowed; collisions cost some thousand dollars.",
        "piv-with-email":
            "Purebred's rules look at the e-mail name first, and the purposes do not suit a signature certificate.",
        "upn-missing": "The name is what Windows logs on by; the certificate is valid without it.",
        "fascn-bad-check":
            "FIPS 201 puts a FASC-N into the certificate, and nothing depends on it but doors.",
        "fascn-other-person": "The names disagree; only a person can say which is right.",
        "upn-other-person": "The names disagree; only a person can say which is right.",
        "negative-serial": "RFC 5280, 4.1.2.2 forbids it, and asks readers to handle it gracefully.",
        "zero-serial": "RFC 5280, 4.1.2.2 forbids it, and asks readers to handle it gracefully.",
        "long-serial": "RFC 5280, 4.1.2.2 allows 20 octets, and readers meet more.",
        "duplicate-serial":
            "Who knows certificates by issuer and serial number overwrites one with the other.",
        "large-certificate": "The sample app takes each 16 KiB of a zip entry for a whole file.",
        "key-of-another-certificate":
            "What is signed with this key never verifies, and nobody finds out why: keys are compared at import.",
        "two-identities":
            "RFC 7292, 4.2: a file may hold several keys; PKCS12_parse of OpenSSL gives the first alone.",
        "no-identity": emptyHanded, "certificate-only": emptyHanded, "key-only": emptyHanded,
        "damaged-certificate": emptyHanded, "empty-zip": emptyHanded,
        "untied-key":
            "RFC 7292, 4.2: localKeyId is optional; the public key says which certificate is the key's.",
        "no-local-key-id": "RFC 7292, 4.2: localKeyId is optional; GnuTLS and Java write files without it.",
        "non-latin-name": names, "emoji-name": names, "control-name": names, "long-name": names,
        "mismatch-beside-identity": "One bad pair must not keep the good identity out, nor pass unmentioned.",
        "octets-behind": "Windows and old Java pad; every other reader takes these files.",
        "damaged-key": "The MAC has proven the password, so that it cannot be wrong.",
        "oversized-key":
            "Deriving the public half of such a key takes a processor for seconds, once for each try.",
        "other-password": "RFC 7292, 5.1: the MAC does not hold, and nothing else tells why.",
        "no-mac":
            "RFC 7292, 4 makes the MAC optional; without it anybody may have changed the file on its way.",
        "iteration-bomb": "CVE-2023-2650 and its kin: an unchecked count occupies a processor for an hour.",
        "zero-iterations": "RFC 7292, B.2: a derivation has at least one iteration.",
        "negative-iterations": "RFC 7292, B.2: a derivation has at least one iteration.",
        "trailing-zeroes": "Windows pads files with zeros, and users mail them.",
        "trailing-bytes": structure, "truncated": structure, "empty-file": structure, "garbage": structure,
        "pem-text": structure, "bare-certificate": structure,
        "flipped-bit":
            "RFC 7292, 5.1: the MAC does not hold; whether the file or the password is wrong, nobody can tell.",
        "zip-broken-entry": "One bad file must not keep the others out, nor pass unmentioned.",
        "zip-other-password": "One bad file must not keep the others out, nor pass unmentioned.",
        "zip-slip": archiveNames, "zip-absolute-name": archiveNames, "zip-backslash-name": archiveNames,
        "zip-drive-name": archiveNames, "zip-nul-name": archiveNames, "zip-symlink": archiveNames,
        "zip-control-name": "A name that is printed steers the terminal of whoever looks.",
        "zip-duplicate-name":
            "Which of two entries counts differs between readers, so that checks can be evaded.",
        "zip-case-duplicate": "On systems that ignore letter case one entry overwrites the other.",
        "zip-lying-size": archiveSizes, "zip-bomb": archiveSizes, "zip-overlap": archiveSizes,
        "zip-encrypted":
            "PKWARE APPNOTE, 6: the password of the files is not the entry's, and guessing helps nobody.",
        "zip-wrong-checksum": "PKWARE APPNOTE, 4.4.7: the data are not those that were packed.",
        "zip-truncated": "PKWARE APPNOTE, 4.3.16: without its directory an archive is not whole.",
        "absent-password":
            "RFC 7292, B.1: no password is no octet, and the empty one has a terminator; both are met.",
        "non-ascii-password": "RFC 7292, B.1: the password is a BMPString; Java opens none of these.",
        "long-password": "Generated passwords are long, and fixed buffers are short.",
        "ber":
            "RFC 7292 says BER; NSS and Bouncy Castle write it, and a reader of DER alone opens none of theirs.",
        "nested-safes": "RFC 7292, 4.2.6: a safe may hold safes.",
        "plain-key": "RFC 7292, 4.2.1: a key bag in an encrypted safe is not encrypted again.",
        "keys-first": "RFC 7292, 4.1 puts the safes in no order; Windows writes keys first.",
        "one-safe": "RFC 7292, 4.1: keys and certificates may share a safe.",
        "certificates-in-clear": "RFC 7292, 4.1: safes may be plain; Java writes so when it is told to.",
        "iterations-1": "RFC 7292, 4: the count is absent where it is 1, as in every public Purebred sample.",
        "iterations-1999": "Counts are what a writer likes, and no power of two.",
        "gnutls-style": "What GnuTLS writes: AES-128, and 600,000 iterations.",
        "nss-style":
            "What Firefox writes: AES-256 for the key, AES-128 for the certificate, 600,000 iterations.",
        "java-style": "What keytool writes: AES-256, and 10,000 iterations.",
        "recovered-keys": "Old mail needs old keys, and an expired certificate opens it as well as any.",
    ]
}
