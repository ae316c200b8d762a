internal import OpenSSL

// Mutations of key derivations, ciphers and the MAC.
extension FileMutation {
    static let parameters: [FileMutation] = kdf + macs

    private static let kdf: [FileMutation] = [
        legal("iterations", "changes the iteration counts of the layers") { draft, source in
            var random = source.generator()
            let count = [1, 2, 999, 1_999, 10_000, 100_000].randomElement(using: &random) ?? 1
            try draft.encryptAll(source) { try .pbes2(vector: $0(16), salt: $0(16), iterations: count) }
        },
        legal("salt", "changes the length of the salts of the layers") { draft, source in
            var random = source.generator()
            let count = Int.random(in: 8...100, using: &random)
            try draft.encryptAll(source) { try .pbes2(vector: $0(16), salt: $0(count)) }
        },
        legal("key-length", "declares the key length of PBKDF2") { draft, source in
            try draft.encryptAll(source) { try .pbes2(vector: $0(16), salt: $0(16), keyLength: 32) }
        },
        legal("prf", "changes the HMAC of PBKDF2") { draft, source in
            var random = source.generator()
            let functions: [String?] = [
                nil, OID.hmacSHA1, "1.2.840.113549.2.8", "1.2.840.113549.2.10", "1.2.840.113549.2.11",
            ]
            let function = functions.randomElement(using: &random) ?? nil
            try draft.encryptAll(source) { try .pbes2(vector: $0(16), salt: $0(16), function: function) }
        },
        legal("cipher", "changes the cipher of PBES2") { draft, source in
            var random = source.generator()
            let cipher = [OID.aes128CBC, OID.aes192CBC].randomElement(using: &random) ?? OID.aes128CBC
            try draft.encryptAll(source) { try .pbes2(cipher, vector: $0(16), salt: $0(16)) }
        },
        legal("legacy-cipher", "encrypts with a scheme of RFC 7292") { draft, source in
            var random = source.generator()
            let number = [3, 4, 5, 6].randomElement(using: &random) ?? 3
            try draft.encryptAll(source) { try .pbes1("1.2.840.113549.1.12.1.\(number)", salt: $0(8)) }
        },
        illegal("key-length-wrong", "declares a wrong key length of PBKDF2") { draft, source in
            var random = source.generator()
            let length = [0, -1, 1, 16, 33, 1_024, 2_147_483_647].randomElement(using: &random) ?? 0
            try draft.claim { algorithm in
                try algorithm.edit([1, 0, 1]) {
                    $0.children.insert(try .integer(length), at: min(2, $0.children.count))
                }
            }
        },
        illegal("iterations-huge", "declares an impossible iteration count for the certificates") {
            draft, source in
            var random = source.generator()
            let count = impossible.randomElement(using: &random) ?? 0
            try draft.claim { try $0.edit([1, 0, 1, 1]) { $0 = try .integer(count) } }
        },
        illegal("vector-wrong", "changes the length of the initialization vector") { draft, source in
            var random = source.generator()
            let octets = random.octets([0, 1, 8, 15, 17, 32, 64].randomElement(using: &random) ?? 0)
            try draft.claim { try $0.edit([1, 1, 1]) { $0.octets = octets } }
        },
    ]

    private static let impossible = [0, -1, 2_147_483_647, 2_147_483_648, 4_294_967_297]

    private static let macs: [FileMutation] = [
        legal("mac-iterations", "changes the iteration count of the MAC") { draft, source in
            var random = source.generator()
            let count = [1, 2, 999, 1_999, 10_000, 100_000].randomElement(using: &random) ?? 1
            draft.mac = .pkcs12(digest: OID.sha256, salt: random.octets(16), iterations: count)
        },
        legal("mac-digest", "changes the digest of the MAC") { draft, source in
            var random = source.generator()
            let sha2 = "2.16.840.1.101.3.4.2"
            let digest = [OID.sha1, OID.sha256, "\(sha2).2", "\(sha2).3", "\(sha2).4"].randomElement(
                using: &random)
            draft.mac = .pkcs12(digest: digest ?? OID.sha1, salt: random.octets(16), iterations: 2_048)
        },
        legal("mac-salt", "changes the length of the salt of the MAC") { draft, source in
            var random = source.generator()
            let salt = random.octets(Int.random(in: 1...100, using: &random))
            draft.mac = .pkcs12(digest: OID.sha256, salt: salt, iterations: 2_048)
        },
        legal("pbmac1", "writes PBMAC1") { draft, source in
            var random = source.generator()
            draft.mac = .pbmac1(.init(salt: random.octets(16)))
        },
        illegal("pbmac1-short-key", "writes PBMAC1 with a short key") { draft, source in
            var random = source.generator()
            var parameters = PKCS12Draft.PBMAC1(salt: random.octets(16))
            parameters.keyLength = Int.random(in: 1...19, using: &random)
            draft.mac = .pbmac1(parameters)
        },
        illegal("mac-removed", "removes the MAC") { draft, _ in draft.mac = nil },
        illegal("mac-wrong", "flips a bit of the MAC") { draft, source in
            draft.edit(.file) { file in
                var random = source.generator()
                try file.edit([2, 0, 1]) {
                    guard let index = $0.octets.indices.randomElement(using: &random) else { return }
                    $0.octets[index] ^= 1
                }
            }
        },
        illegal("mac-truncated", "shortens the value of the MAC") { draft, source in
            draft.edit(.file) { file in
                var random = source.generator()
                try file.edit([2, 0, 1]) {
                    $0.octets = Array($0.octets.prefix(Int.random(in: 0...16, using: &random)))
                }
            }
        },
        illegal("mac-iterations-huge", "declares an impossible iteration count for the MAC") {
            draft, source in
            draft.edit(.file) { file in
                var random = source.generator()
                let count = impossible.randomElement(using: &random) ?? 0
                try file.edit([2, 2]) { $0 = try .integer(count) }
            }
        },
        illegal("mac-password", "computes the MAC with another password") { draft, _ in
            draft.macPassword = .init("another")
        },
        illegal("layer-password", "encrypts the layers with another password") { draft, _ in
            draft.macPassword = draft.macPassword ?? draft.password
            draft.password = .init("another")
        },
    ]
}

extension PKCS12Draft {
    /// Encrypts all encrypted safes and keys with other parameters.
    ///
    /// - Parameter make: Creates an encryption from a source of random octets.
    fileprivate mutating func encryptAll(
        _ source: RandomSource, _ make: ((Int) -> [UInt8]) throws -> Encryption
    ) rethrows {
        var random = source.child("encryption").generator()
        func encryption() throws -> Encryption { try make { random.octets($0) } }
        for safe in safes.indices {
            if safes[safe].encryption != nil { safes[safe].encryption = try encryption() }
            for bag in safes[safe].bags.indices {
                guard case .shroudedKey(let info, _) = safes[safe].bags[bag].value else { continue }
                safes[safe].bags[bag].value = .shroudedKey(info, try encryption())
            }
        }
    }

    /// Changes the AlgorithmIdentifier of the first encrypted safe, but not its encryption.
    fileprivate mutating func claim(_ change: (inout BERElement) throws -> Void) throws {
        guard let index = safes.firstIndex(where: { $0.encryption != nil }) else { return }
        try safes[index].encryption?.claim([], change)
    }
}
