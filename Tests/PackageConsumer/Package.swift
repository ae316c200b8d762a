// swift-tools-version: 6.2
import PackageDescription

// A package that depends only on the library product KeySharing, as an app's package would.
let package = Package(
    name: "PackageConsumer",
    platforms: [.macOS(.v13), .iOS(.v16)],
    dependencies: [.package(name: "KeySharing", path: "../..", traits: [])],
    targets: [
        .executableTarget(
            name: "PackageConsumer", dependencies: [.product(name: "KeySharing", package: "KeySharing")])
    ]
)
