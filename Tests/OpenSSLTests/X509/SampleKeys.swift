import OpenSSL
import Testing

/// Private keys of types that this project does not generate, as unencrypted PKCS #8.
///
/// They were created with `openssl genpkey` only for these tests, and protect nothing.
enum SampleKeys {
    /// A key, with its expected type and size.
    struct Sample: Sendable, CustomTestStringConvertible {
        let type: KeyType
        let bits: Int
        let pkcs8: [UInt8]

        var testDescription: String { "\(type)" }
    }

    /// A key on P-256 with explicit parameters instead of the curve's name.
    static let explicitCurve = bytes(
        "308201790201003082010306072a8648ce3d02013081f7020101302c06072a8648ce3d0101022100ffff"
            + "ffff00000001000000000000000000000000ffffffffffffffffffffffff305b0420ffffffff00000001"
            + "000000000000000000000000fffffffffffffffffffffffc04205ac635d8aa3a93e7b3ebbd55769886bc"
            + "651d06b0cc53b0f63bce3c3e27d2604b031500c49d360886e704936a6678e1139d26b7819f7e90044104"
            + "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c2964fe342e2fe1a7f9b8ee7"
            + "eb4a7c0f9e162bce33576b315ececbb6406837bf51f5022100ffffffff00000000ffffffffffffffffbc"
            + "e6faada7179e84f3b9cac2fc632551020101046d306b0201010420ad04f12126ea460ca3a02113b8854c"
            + "9b8ff1a58ff1bd8a266487594b04dfe92aa144034200044c6dfd8180ac6094dec976c313c879a8f63477"
            + "158f72305bb7d19cd67be6475fb91b9c2ff1c370732f98480aa50d1b9b30d7f5aeb404035b072f3fa43c"
            + "321f04"
    )

    static let all = [
        Sample(
            type: .ed25519, bits: 256,
            pkcs8: bytes(
                "302e020100300506032b657004220420971ed65b1d84e764393672b72054d27e8a3e867ff976d754096a"
                    + "c2a945d496c3")),
        Sample(
            type: .ed448, bits: 456,
            pkcs8: bytes(
                "3047020100300506032b6571043b043971313c0e74a9b85fecd1ffc0fd194a2f26c0e2b82cbefd97bd6a"
                    + "249c4669b510567e40921e9302954162836cd8397ad42de21af9110faee38d")),
        Sample(
            type: .x25519, bits: 253,
            pkcs8: bytes(
                "302e020100300506032b656e04220420703a57747107910d1a16f7e8cc98e4282dbdf78f0abeaf04d2c1"
                    + "2d801e725a77")),
        Sample(
            type: .x448, bits: 448,
            pkcs8: bytes(
                "3046020100300506032b656f043a043854c6c217a9b884dfe9efd253b0175878291e08267595de49d95a"
                    + "f5b7a8026b0cacfdbdff36b21c6d6c9b1cc8d9abbe844cb926ada02dac9d")),
        Sample(
            type: .dsa, bits: 1024,
            pkcs8: bytes(
                "3082014c0201003082012c06072a8648ce3804013082011f02818100a0470e575000df5c188379b4d4b2"
                    + "5a14dae0901f3b2db348cec4a7a32a86d6f16a1137b811e4f8b68f21159652917499f5cbbdb991028549"
                    + "628363d7c67034ee40ba27e4b6530592faabfd660e888ac073952f379e7e94f0f58df0fc2a03fb2193c2"
                    + "4e9bcd10e0ecf673f50121d3dba60b81a2f85a3de1c3c85bc0e1a8ce57df021500ed589e6ac781681510"
                    + "796efb7cba68e3fe701d65028181008248a6f0a0de6c7c679a50839f4f438be3b9f1b5f43444ec99b962"
                    + "8736642eed614d911510b626521e77b5a27a033a80ee5b84f9215e176d01dadbaa6c457a48c43b58f9eb"
                    + "d7d3fc38b4f295f5fd3cccd543d9dda0bb179c298c557dce386493d7686b01f474d1ac327464fe5ebcd6"
                    + "6deb5dbbceef58fe036925beb0a1a3389f04170215008200e1f5f89ad5454d6f58c90ddf2f695f9c45b7")),
        Sample(
            type: .ec(curve: "P-521"), bits: 521,
            pkcs8: bytes(
                "3081ee020100301006072a8648ce3d020106052b810400230481d63081d302010104420138733aaffcf2"
                    + "f61db2d73235736b1cd5a75196916d016960e865af312876f469a9ee1d63ef92679c989cf870182f3bed"
                    + "036f960776b4296937019332701fcf9702a18189038186000400fd4560d6a85b02c3186096989b0d71cd"
                    + "244cdf0f637e81b068dab697f8bba4136d54afb6e792692ca073f3322a6bf59d473a825ed9c27a07a235"
                    + "9e2d388a33374300a5576fc59fb9c2ac077ce1f0ade59f646bd2ec406fe264795209c375c410eb76735f"
                    + "60f40703fb829920006428b837612db976998d64aea7163c26a7d0cafba2f1")),
        Sample(
            type: .ec(curve: "brainpoolP256r1"), bits: 256,
            pkcs8: bytes(
                "308188020100301406072a8648ce3d020106092b2403030208010107046d306b0201010420a9572f41d5"
                    + "b46753f8ad35994ed20e68ceace795b8f345d39952b8c89a1e5c60a14403420004315989f3ac6ef2f860"
                    + "f6ff5b0942cff3f1b2a444789726c6d7e9ab72b3f1dadb73738317347a8881b6cfce9105338c379b5606"
                    + "260a5ca5b8c29e31e719aca621")),
    ]

    static let ed25519 = all[0]

    private static func bytes(_ hex: String) -> [UInt8] { [UInt8](hex: hex) }
}

extension [UInt8] {
    /// The octets of a hexadecimal text, two digits for each. All other characters are skipped.
    init(hex: String) {
        let digits = hex.compactMap(\.hexDigitValue)
        self = stride(from: 0, to: digits.count - 1, by: 2).map { (index: Int) -> UInt8 in
            UInt8(digits[index] * 16 + digits[index + 1])
        }
    }
}
