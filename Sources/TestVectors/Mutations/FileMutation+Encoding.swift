internal import OpenSSL

// Mutations of lengths, BER forms and elements.
extension FileMutation {
    static let encodings: [FileMutation] = [
        encoding("ber-indefinite", "gives a structure an indefinite length", isLegal: true) { element, _ in
            guard case .constructed = element.content else { return false }
            element.length = .indefinite
            return true
        },
        encoding("ber-long-length", "writes a length with leading zero octets", isLegal: true) {
            element, random in
            element.length = .long(octets: Int.random(in: 3...4, using: &random))
            return true
        },
        encoding("ber-split", "splits an octet string into pieces", isLegal: true) { element, random in
            guard element.tag == BERElement.octetStringTag, element.octets.count > 1 else { return false }
            element.split(every: Int.random(in: 1...element.octets.count, using: &random))
            return true
        },
        legal("ber-everything", "gives every structure an indefinite length") { draft, _ in
            for level in levels(of: draft) { draft.edit(level) { $0.makeIndefinite() } }
        },
        encoding("wrong-length", "changes the length of an element") { element, random in
            element.length = .wrong(by: [-100, -1, 1, 2, 127, 70_000].randomElement(using: &random) ?? 1)
            return true
        },
    ]

    static let structures: [FileMutation] = [
        encoding("element-removed", "removes an element") { element, random in
            guard !element.children.isEmpty else { return false }
            element.children.remove(at: Int.random(in: element.children.indices, using: &random))
            return true
        },
        encoding("element-repeated", "repeats an element") { element, random in
            guard let child = element.children.randomElement(using: &random) else { return false }
            element.children.append(child)
            return true
        },
        encoding("element-null", "replaces an element with NULL") { element, random in
            guard !element.children.isEmpty else { return false }
            element.children[Int.random(in: element.children.indices, using: &random)] = .null
            return true
        },
        encoding("element-emptied", "removes the contents of an element") { element, _ in
            switch element.content {
            case .primitive: element.octets = []
            case .constructed: element.children = []
            }
            return true
        },
        encoding("number", "replaces a number with an extreme one") { element, random in
            guard element.tag == 0x02 else { return false }
            let numbers: [[UInt8]] = [
                [0], [0xFF], [0x7F, 0xFF, 0xFF, 0xFF], [0, 0x80, 0, 0, 0], [1, 0, 0, 0, 1],
                [0x7F] + [UInt8](repeating: 0xFF, count: 7), [UInt8](repeating: 0x7F, count: 64),
            ]
            element.octets = numbers.randomElement(using: &random) ?? [0]
            return true
        },
        encoding("identifier", "changes an object identifier") { element, _ in
            guard element.tag == 0x06, let last = element.octets.last else { return false }
            element.octets[element.octets.count - 1] = (last + 1) & 0x7F
            return true
        },
        encoding("tag", "changes the tag of an element") { element, random in
            element.tag = UInt8.random(in: 0...30, using: &random) | (Bool.random(using: &random) ? 0x80 : 0)
            return true
        },
        illegal("deep-nesting", "nests the bags of a safe 10 to 60 times") { draft, source in
            var random = source.generator()
            guard let index = draft.safes.indices.randomElement(using: &random) else { return }
            for _ in 0..<Int.random(in: 10...60, using: &random) {
                draft.safes[index].bags = [.init(.bags(draft.safes[index].bags))]
            }
        },
    ]

    /// The structures that can be edited.
    static func levels(of draft: PKCS12Draft) -> [PKCS12Draft.Level] {
        [.file, .authenticatedSafe] + draft.safes.indices.map { .safe($0) }
    }

    /// A mutation of one random element in one random structure.
    ///
    /// - Parameter change: Changes the element. Returns false if this mutation does not apply to the element.
    private static func encoding(
        _ kind: String, _ summary: String, isLegal: Bool = false,
        _ change: @escaping @Sendable (inout BERElement, inout RandomSource.Generator) -> Bool
    ) -> FileMutation {
        let edit: @Sendable (inout PKCS12Draft, RandomSource) -> Void = { draft, source in
            var random = source.generator()
            let level = levels(of: draft).randomElement(using: &random) ?? .file
            draft.edit(level) { element in
                var random = source.child("element").generator()
                // Try the elements in random order, until the mutation applies to one.
                for path in element.paths.shuffled(using: &random) {
                    var isDone = false
                    try element.edit(path) { isDone = change(&$0, &random) }
                    if isDone { return }
                }
            }
        }
        return isLegal ? legal(kind, summary, edit) : illegal(kind, summary, edit)
    }
}
