// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "KeySharing",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "keyshare-provider", targets: ["keyshare-provider"]),
        .executable(name: "keyshare-consumer", targets: ["keyshare-consumer"]),
        .executable(name: "keyshare-device", targets: ["keyshare-device"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/ordo-one/TextTable", from: "0.0.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // C libraries: a module map and a shim header each.
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CLibZip", pkgConfig: "libzip", providers: [.apt(["libzip-dev"])]),
        .target(name: "CLinux"),

        // Wrappers: no C type leaves them.
        .target(
            name: "OpenSSL",
            dependencies: ["COpenSSL", .product(name: "SwiftASN1", package: "swift-asn1")]),
        .target(name: "ZipBundles", dependencies: ["CLibZip"]),
        .target(
            name: "UTTypes", path: "UTTypes",
            resources: [
                .embedInCode("SystemTypes.plist"), .embedInCode("LegacyTypes.plist"),
                .embedInCode("KeySharing2025Types.plist"),
            ]),
        .target(name: "UniformTypes", dependencies: ["UTTypes"]),

        // What both sides share.
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

        // The two sides; they never import each other.
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
        // A consumer's steps against a provider of its own, and HTTP: the roads that need a connection.
        .target(
            name: "ConnectedRoads",
            dependencies: [
                "DeviceSimulation", "KeyShareConsumer", "KeySharing", "OpenSSL", "ProviderConnection",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        .target(
            name: "CommandSupport",
            dependencies: [
                "CLinux", "DeviceSimulation", "KeySharing", "OpenSSL", "ProviderConnection", "UniformTypes",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "TextTable", package: "TextTable"),
            ]),
        .executableTarget(
            name: "keyshare-provider",
            dependencies: [
                "CLinux", "CommandSupport", "DeviceSimulation", "KeyShareProvider", "KeySharing", "OpenSSL",
                "ProviderConnection",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]),
        .executableTarget(
            name: "keyshare-consumer",
            dependencies: [
                "CommandSupport", "DeviceSimulation", "KeyShareConsumer", "KeySharing", "OpenSSL",
                "ProviderConnection", "UniformTypes", "ZipBundles",
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]),
        .executableTarget(
            name: "keyshare-device",
            dependencies: [
                "CommandSupport", "ConnectedRoads", "DeviceSimulation",
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]),

        // Tests.
        .target(name: "Fixtures", path: "Fixtures", exclude: ["README.md"], resources: [.copy("Files")]),
        .target(
            name: "TestSupport", dependencies: ["COpenSSL", "DeviceSimulation"], path: "Tests/TestSupport"),
        .testTarget(
            name: "OpenSSLTests",
            dependencies: [
                "COpenSSL", "OpenSSL", "TestSupport", .product(name: "SwiftASN1", package: "swift-asn1"),
            ]),
        .testTarget(name: "ZipBundlesTests", dependencies: ["CLibZip", "ZipBundles"]),
        .testTarget(name: "UniformTypesTests", dependencies: ["UniformTypes", "UTTypes"]),
        .testTarget(name: "KeySharingTests", dependencies: ["KeySharing", "OpenSSL"]),
        .testTarget(name: "CommandSupportTests", dependencies: ["CommandSupport"]),
        .testTarget(
            name: "DeviceSimulationTests",
            dependencies: [
                "DeviceSimulation", "OpenSSL", "TestSupport", .product(name: "GRDB", package: "GRDB.swift"),
            ]),
        .testTarget(
            name: "ProviderConnectionTests",
            dependencies: [
                "KeySharing", "OpenSSL", "ProviderConnection", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            exclude: ["Vectors"]),
        .testTarget(
            name: "KeyShareProviderTests",
            dependencies: [
                "DeviceSimulation", "Fixtures", "KeyShareConsumer", "KeyShareProvider", "KeySharing",
                "OpenSSL", "ProviderConnection", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(
            name: "KeyShareConsumerTests",
            dependencies: [
                "DeviceSimulation", "KeyShareConsumer", "KeySharing", "OpenSSL", "ProviderConnection",
                "TestSupport",
                "ZipBundles", .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(
            name: "ConnectedRoadsTests",
            dependencies: [
                "ConnectedRoads", "DeviceSimulation", "KeySharing", "OpenSSL", "ProviderConnection",
                "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "Fixtures", "TestSupport", "keyshare-provider", "keyshare-consumer", "keyshare-device",
            ],
            exclude: ["Golden"]),
    ]
)

// The strictest flags, on every Swift target alike; warnings are errors in CI only, so that a newer
// compiler's new warning stops no user's build.
for target in package.targets where target.type != .system && target.name != "CLinux" {
    var settings = target.swiftSettings ?? []
    settings += [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .strictMemorySafety(),
    ]
    if Context.environment["CI"] != nil {
        settings.append(.treatAllWarnings(as: .error))
    }
    target.swiftSettings = settings
}
