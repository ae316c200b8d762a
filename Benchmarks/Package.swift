// swift-tools-version: 6.2
import PackageDescription

// Benchmarks are a package of their own, so that no build of the package itself makes them. What they measure
// has package access only and is not published for their sake: the sources are linked in, and so belong to
// this package too.
let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CLibZip", pkgConfig: "libzip", providers: [.apt(["libzip-dev"])]),
        .target(name: "CLinux"),
        .target(
            name: "OpenSSL",
            dependencies: ["COpenSSL", .product(name: "SwiftASN1", package: "swift-asn1")]),
        .target(name: "ZipBundles", dependencies: ["CLibZip"]),
        .target(
            name: "UTTypes",
            resources: [
                .embedInCode("SystemTypes.plist"), .embedInCode("LegacyTypes.plist"),
                .embedInCode("KeySharing2025Types.plist"),
            ]),
        .target(name: "UniformTypes", dependencies: ["UTTypes"]),
        .target(name: "KeySharing", dependencies: ["OpenSSL", "UniformTypes"]),
        .target(
            name: "DeviceSimulation",
            dependencies: ["OpenSSL", .product(name: "GRDB", package: "GRDB.swift")]),
        .target(
            name: "ProviderConnection",
            dependencies: [
                "CLinux", "KeySharing", "OpenSSL",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),
        .target(
            name: "KeyShareProvider",
            dependencies: [
                "DeviceSimulation", "KeySharing", "OpenSSL", "ProviderConnection", "ZipBundles",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Yams", package: "Yams"),
            ],
            resources: ["dod-2018", "dod-2021", "dod-2024", "derived-piv", "piv-i", "device"].map {
                .embedInCode("Provisioning/Profiles/\($0).json")
            }
                + [
                    "fresh-user", "three-renewals", "same-not-before", "expired-signature", "renewed-early",
                    "only-recovered-keys", "many-recovered-keys", "elliptic-curves", "profile-change",
                    "derived-and-piv-i", "device-only", "unknown-type", "mixed-mechanisms", "no-match",
                    "nobody", "revoked-signature", "disagreeing-names", "like-the-samples", "no-password",
                    "late-password", "cut-off",
                ].map { .embedInCode("Provisioning/Scenarios/\($0).yaml") }),
        .target(
            name: "KeyShareConsumer",
            dependencies: [
                "DeviceSimulation", "KeySharing", "OpenSSL", "ProviderConnection", "UniformTypes",
                "ZipBundles",
            ]),
        .executableTarget(
            name: "pkcs12-benchmark", dependencies: ["KeyShareConsumer", "OpenSSL", "ZipBundles"]),
        .executableTarget(
            name: "keychain-benchmark",
            dependencies: [
                "DeviceSimulation", "KeyShareProvider", "KeySharing", "OpenSSL", "ProviderConnection",
            ]),
        .executableTarget(
            name: "nio-echo",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
    ]
)

for target in package.targets where target.type != .system && target.name != "CLinux" {
    target.swiftSettings = [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .strictMemorySafety(),
    ]
}
