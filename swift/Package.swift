// swift-tools-version: 6.0
import Foundation
import PackageDescription

// Where libsluicegate_swift.so lies. `cargo xtask` sets it; the default suits a plain
// `cargo build --release -p sluicegate-swift`.
let libraries =
  ProcessInfo.processInfo.environment["SLUICEGATE_LIB_DIR"]
  ?? "\(Context.packageDirectory)/../target/release"

let package = Package(
  name: "sluicegate",
  platforms: [.macOS(.v13), .iOS(.v16)],
  products: [.library(name: "Sluicegate", targets: ["Sluicegate"])],
  targets: [
    .systemLibrary(name: "SluicegateFFI", path: "Sources/SluicegateFFI"),
    .target(
      name: "SluicegateCore",
      dependencies: ["SluicegateFFI"],
      path: "Sources/SluicegateCore",
      linkerSettings: [
        .unsafeFlags(["-L\(libraries)", "-Xlinker", "-rpath", "-Xlinker", libraries]),
        .linkedLibrary("sluicegate_swift"),
      ]),
    .target(name: "Sluicegate", dependencies: ["SluicegateCore"], path: "Sources/Sluicegate"),
    .testTarget(
      name: "SluicegateTests", dependencies: ["Sluicegate", "SluicegateCore"],
      path: "Tests/SluicegateTests"),
  ],
  swiftLanguageModes: [.v6])
