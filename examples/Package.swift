// swift-tools-version: 6.0
// The examples in Swift: `swift run --package-path examples basic`.
import Foundation
import PackageDescription

/// The programs in other languages lie beside.
func known(_ example: String, _ file: String) -> Bool {
  FileManager.default.fileExists(atPath: "\(Context.packageDirectory)/\(example)/\(file)")
}

func example(_ name: String, sources: [String] = ["main.swift"]) -> Target {
  .executableTarget(
    name: name, dependencies: [.product(name: "Sluicegate", package: "sluicegate")], path: name,
    exclude: ["expected.txt", "main.rs", "main.py", "main.go", "main.c"].filter { known(name, $0) },
    sources: sources)
}

let package = Package(
  name: "sluicegate-examples",
  platforms: [.macOS(.v13)],
  dependencies: [.package(name: "sluicegate", path: "../swift")],
  targets: [
    example("basic"), example("showcase"), example("ledger"),
    example("http", sources: ["main.swift", "Server.swift"]), example("transcode"),
  ],
  swiftLanguageModes: [.v6])
