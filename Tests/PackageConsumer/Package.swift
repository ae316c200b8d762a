// swift-tools-version: 6.2
import PackageDescription

// A package as an app's would be: it depends on the library product KeySharing and on nothing else.
let package = Package(
    name: "PackageConsumer",
    platforms: [.macOS(.v13), .iOS(.v16)],
    dependencies: [.package(name: "KeySharing", path: "../..", traits: [])],
    targets: [
        .executableTarget(
            name: "PackageConsumer", dependencies: [.product(name: "KeySharing", package: "KeySharing")])
    ]
)
