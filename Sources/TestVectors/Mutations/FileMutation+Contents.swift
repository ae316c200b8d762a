internal import OpenSSL

// Mutations of safes, bags and attributes.
extension FileMutation {
    static let layouts: [FileMutation] = [
        legal("bags-shuffled", "changes the order of the bags in each safe") { draft, source in
            var random = source.generator()
            for index in draft.safes.indices { draft.safes[index].bags.shuffle(using: &random) }
        },
        legal("safes-reversed", "reverses the order of the safes") { draft, _ in draft.safes.reverse() },
        legal("one-safe", "moves all bags to one safe") { draft, _ in
            draft.safes = [.init(draft.safes.flatMap(\.bags), draft.safes.compactMap(\.encryption).first)]
        },
        legal("safe-per-bag", "moves each bag to a safe of its own") { draft, _ in
            draft.safes = draft.safes.flatMap { safe in safe.bags.map { .init([$0], safe.encryption) } }
        },
        legal("safes-in-clear", "writes all safes in the clear") { draft, _ in
            for index in draft.safes.indices { draft.safes[index].encryption = nil }
        },
        legal("nested", "nests the bags of a safe in another safe") { draft, source in
            var random = source.generator()
            guard let index = draft.safes.indices.randomElement(using: &random) else { return }
            draft.safes[index].bags = [.init(.bags(draft.safes[index].bags))]
        },
        legal("empty-safe", "adds an empty safe") { draft, source in
            var random = source.generator()
            draft.safes.insert(.init([]), at: Int.random(in: 0...draft.safes.count, using: &random))
        },
    ]

    static let attributes: [FileMutation] = [
        legal("no-name", "removes the friendly names") { draft, _ in draft.remove(OID.friendlyName) },
        legal("no-local-key-id", "removes the localKeyIDs") { draft, _ in draft.remove(OID.localKeyID) },
        legal("no-key-local-key-id", "removes the localKeyIDs of one safe") { draft, source in
            var random = source.generator()
            draft.remove(OID.localKeyID, safe: draft.safes.indices.randomElement(using: &random))
        },
        legal("local-key-id", "writes random localKeyIDs") { draft, source in
            var random = source.generator()
            for index in draft.safes.indices {
                let octets = random.octets(Int.random(in: 0...300, using: &random))
                draft.replace(OID.localKeyID, .octetString(octets), safe: index)
            }
        },
        legal("name", "writes other friendly names") { draft, source in
            var random = source.generator()
            let names = [
                "", " ", "\u{FEFF}x", "\u{1F511}", "a/b\\c", "\u{202E}x", "e\u{301}", "x\ny", "\u{0}",
                String(repeating: "n", count: 300), String(repeating: "\u{5BC6}", count: 5_000),
            ]
            draft.replace(OID.friendlyName, .bmpString(names.randomElement(using: &random) ?? ""))
        },
        illegal("name-type", "writes the friendly names with another string type") { draft, source in
            var random = source.generator()
            let tag: UInt8 = [0x0C, 0x13, 0x14, 0x16, 0x1C, 0x04].randomElement(using: &random) ?? 0x0C
            draft.replace(
                OID.friendlyName, .string(tag, random.octets(Int.random(in: 0...9, using: &random))))
        },
        illegal("odd-name", "writes BMPStrings with an odd number of octets") { draft, source in
            var random = source.generator()
            let count = [1, 3, 5, 99].randomElement(using: &random) ?? 1
            draft.replace(OID.friendlyName, .string(0x1E, random.octets(count)))
        },
        legal("other-attribute", "adds an unknown attribute to each bag") { draft, source in
            var random = source.generator()
            let attribute = BERElement.sequence([
                try .objectIdentifier("1.3.6.1.4.1.99999.\(Int.random(in: 1...9, using: &random))"),
                .set([.octetString(random.octets(5))]),
            ])
            draft.changeBags { $0.attributes = ($0.attributes ?? []) + [attribute] }
        },
        legal("no-attributes", "removes all attributes") { draft, _ in
            draft.changeBags { $0.attributes = nil }
        },
        legal("empty-attributes", "empties the sets of attributes") { draft, _ in
            draft.changeBags { $0.attributes = [] }
        },
    ]

    static let contents: [FileMutation] = [
        legal("plain-keys", "writes the keys in the clear") { draft, _ in
            draft.changeBags { bag in
                if case .shroudedKey(let info, _) = bag.value { bag.value = .key(info) }
            }
        },
        legal("bag-repeated", "repeats a bag") { draft, source in
            var random = source.generator()
            guard let index = draft.safes.indices.randomElement(using: &random),
                let bag = draft.safes[index].bags.randomElement(using: &random)
            else { return }
            draft.safes[index].bags.append(bag)
        },
        legal("secret", "adds a secret") { draft, _ in
            try draft.add(
                OID.secretBag,
                .sequence([try .objectIdentifier(OID.data), .explicit(0, .octetString(Array("secret".utf8)))])
            )
        },
        illegal("unknown-bag", "adds a bag of an unknown type") { draft, _ in
            try draft.add("1.3.6.1.4.1.99999.2", .octetString([1, 2, 3]))
        },
        illegal("certificates-removed", "removes the certificates") { draft, _ in
            draft.removeBags { if case .certificate = $0.value { true } else { false } }
        },
        illegal("keys-removed", "removes the keys") { draft, _ in
            draft.removeBags {
                switch $0.value {
                case .shroudedKey, .key: true
                default: false
                }
            }
        },
        illegal("certificate-damaged", "truncates the certificates") { draft, source in
            var random = source.generator()
            // Two mutations that append one octet must not complete the certificate again.
            let count = Int.random(in: 3...200, using: &random)
            draft.changeBags { bag in
                if case .certificate(let der) = bag.value { bag.value = .certificate(der.dropLast(count)) }
            }
        },
        illegal("certificate-trailer", "appends octets to the certificates") { draft, _ in
            draft.changeBags { bag in
                if case .certificate(let der) = bag.value { bag.value = .certificate(der + [0]) }
            }
        },
        illegal("key-damaged", "replaces the private keys with random octets") { draft, source in
            var random = source.generator()
            let octets = random.octets(100)
            draft.changeBags { bag in
                if case .shroudedKey(_, let encryption) = bag.value {
                    bag.value = .shroudedKey(octets, encryption)
                }
            }
        },
        illegal("key-of-another", "replaces the private keys with another key") { draft, source in
            let other = try PrivateKey.generate(.p256, seed: source.child("key").seed).info()
            draft.changeBags { bag in
                if case .shroudedKey(_, let encryption) = bag.value {
                    bag.value = .shroudedKey(other, encryption)
                }
            }
        },
    ]
}

extension PKCS12Draft {
    /// Changes every bag, except those in nested safes.
    fileprivate mutating func changeBags(_ change: (inout Bag) throws -> Void) rethrows {
        for safe in safes.indices {
            for bag in safes[safe].bags.indices { try change(&safes[safe].bags[bag]) }
        }
    }

    fileprivate mutating func removeBags(where isRemoved: (Bag) -> Bool) {
        for safe in safes.indices { safes[safe].bags.removeAll(where: isRemoved) }
    }

    fileprivate mutating func add(_ type: String, _ value: BERElement) throws {
        guard !safes.isEmpty else { return }
        safes[0].bags.append(.init(.other(type, value)))
    }
}
