extension VectorNote {
    /// The notes on test vectors with unusual parameters, bags and keys.
    static let parameters: [String: VectorNote] = [
        "Pbmac1Parameters": VectorNote(
            "MODIFIED_PARAMETER",
            "The parameters of PBMAC1 are unusual, incomplete or wrong. With a short key, a forged file is accepted under any password.",
            [
                "https://www.rfc-editor.org/rfc/rfc9579", "https://www.rfc-editor.org/rfc/rfc9879",
                "https://github.com/bcgit/bc-java/pull/2431",
                "https://github.com/openssl/openssl/issues/30246",
                "https://github.com/openjdk/jdk/pull/24429",
            ], cves: ["CVE-2025-11187", "CVE-2026-34181"]),
        "TwoPasswords": VectorNote(
            "DEFINED", "The MAC and the layers have different passwords.",
            [
                standard + "#section-3.1", "https://github.com/openssl/openssl/issues/7936",
                "https://github.com/openssl/openssl/issues/8107",
                "https://github.com/ocheron/cryptostore/issues/4",
            ]),
        "LocalKeyId": VectorNote(
            "EDGE_CASE",
            "The localKeyIDs are missing, unusual or ambiguous. The public key identifies the certificate.",
            [
                "https://www.rfc-editor.org/rfc/rfc2985#section-5.5.2",
                "https://github.com/Ephenodrom/Dart-Basic-Utils/issues/119",
                "https://github.com/mirleft/ocaml-x509/pull/163",
                "https://github.com/chris2511/xca/issues/568",
            ]),
        "VendorAttributes": VectorNote(
            "EDGE_CASE", "A bag has an attribute that RFC 7292 does not define.",
            [
                standard + "#section-4.2", "https://github.com/openssl/openssl/issues/6684",
                "https://github.com/wbond/asn1crypto/pull/31", "https://github.com/SSLMate/go-pkcs12/pull/16",
            ]),
        "OtherBags": VectorNote(
            "FUNCTIONALITY",
            "The file contains an identity and a bag that is neither a key nor an X.509 certificate.",
            [
                standard + "#section-4.2.4", standard + "#section-4.2.5",
                "https://github.com/openssl/openssl/issues/1854",
                "https://github.com/bcgit/bc-java/issues/890",
                "https://github.com/openssl/openssl/pull/10063",
            ]),
        "Duplicates": VectorNote(
            "EDGE_CASE", "A key or a certificate occurs more than once, or a key has several certificates.",
            [
                standard + "#section-4.2", "https://github.com/dotnet/runtime/issues/45715",
                "https://github.com/ancwrd1/p12-keystore/pull/5", "https://github.com/dogtagpki/pki/pull/58",
            ]),
        "CertificateOrder": VectorNote(
            "FUNCTIONALITY", "The file contains further certificates, in any order.",
            [
                standard + "#section-4.2", "https://github.com/openssl/openssl/issues/6698",
                "https://github.com/openssl/openssl/issues/16927",
                "https://github.com/pyca/cryptography/issues/5872",
                "https://github.com/SSLMate/go-pkcs12/issues/54",
            ]),
        "UnusualAlgorithms": VectorNote(
            "FUNCTIONALITY", "A cipher, HMAC or digest is one that few programs use.",
            [
                "https://www.rfc-editor.org/rfc/rfc8018#appendix-B",
                "https://github.com/SSLMate/go-pkcs12/pull/16",
                "https://github.com/SSLMate/go-pkcs12/pull/53",
                "https://github.com/kaikramer/keystore-explorer/issues/302",
            ]),
        "UnknownAlgorithm": VectorNote(
            "MISSING_STEP", "An algorithm is unknown, although the password is correct.",
            [standard + "#section-4", "https://github.com/nodejs/node/issues/40672"]),
        "Scrypt": VectorNote(
            "FUNCTIONALITY", "The key derivation is scrypt. The file determines how much memory it uses.",
            [
                "https://www.rfc-editor.org/rfc/rfc7914#section-7",
                "https://github.com/denoland/deno/pull/34438",
            ]),
        "KeyLength": VectorNote(
            "MODIFIED_PARAMETER",
            "The key length or the initialization vector is unusual, or does not fit the cipher.",
            [
                "https://www.rfc-editor.org/rfc/rfc8018#appendix-A.2",
                "https://github.com/bcgit/bc-java/issues/281", "https://github.com/SSLMate/go-pkcs12/pull/53",
                "https://github.com/youmark/pkcs8/pull/46",
            ]),
        "SaltLength": VectorNote(
            "EDGE_CASE", "A salt is empty, short or long.",
            [standard + "#appendix-B.2", "https://www.rfc-editor.org/rfc/rfc8018#section-4.1"]),
        "KeyTypes": VectorNote(
            "FUNCTIONALITY", "The private key is of a type that some readers do not support.",
            [
                "https://www.rfc-editor.org/rfc/rfc5480", "https://www.rfc-editor.org/rfc/rfc8410",
                "https://github.com/libreswan/libreswan/issues/2483",
                "https://github.com/chilicat/terraform-provider-pkcs12/issues/23",
            ]),
        "KeyEncoding": VectorNote(
            "EDGE_CASE", "The PrivateKeyInfo has optional fields, another version, or is BER.",
            [
                "https://www.rfc-editor.org/rfc/rfc5958#section-2",
                "https://www.rfc-editor.org/rfc/rfc5915#section-3",
                "https://github.com/chris2511/xca/issues/568",
            ]),
    ]
}
