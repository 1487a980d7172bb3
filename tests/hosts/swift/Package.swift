// swift-tools-version: 6.0
import PackageDescription

let package = Package(
  name: "host-swift",
  platforms: [.macOS(.v13)],
  products: [.executable(name: "host-swift", targets: ["FcHost"])],
  dependencies: [.package(name: "sluicegate", path: "sluicegate")],
  targets: [
    .executableTarget(
      name: "FcHost",
      dependencies: [.product(name: "Sluicegate", package: "sluicegate")])
  ],
  swiftLanguageModes: [.v6])
