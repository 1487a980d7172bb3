// swift-tools-version: 6.0
import PackageDescription

let package = Package(
  name: "cartridge-swift",
  platforms: [.macOS(.v13)],
  products: [.executable(name: "cartridge-swift", targets: ["FcCartridge"])],
  dependencies: [.package(name: "sluicegate", path: "sluicegate")],
  targets: [
    .executableTarget(
      name: "FcCartridge",
      dependencies: [.product(name: "Sluicegate", package: "sluicegate"), "Digest"]),
    .target(name: "Digest"),
    .testTarget(name: "DigestTests", dependencies: ["Digest"]),
  ],
  swiftLanguageModes: [.v6])
