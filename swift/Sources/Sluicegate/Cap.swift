internal import SluicegateCore

/// One cap of a cartridge. Its main input and output are the `in=` and `out=` of its URN; a string
/// literal is a cap.
public struct Cap: Sendable, Hashable, ExpressibleByStringLiteral {
  /// One output beside the main one.
  public struct Output: Sendable, Hashable {
    /// Its media.
    public var media: String
    /// A sequence of items.
    public var isSequence: Bool

    /// An output of `media`.
    public init(_ media: String, isSequence: Bool = false) {
      self.media = media
      self.isSequence = isSequence
    }
  }

  /// The URN, for example `cap:upper;in=media:blob;out=media:blob`.
  public var urn: String
  /// A title for people; the URN's first tag by default.
  public var title: String?
  /// The main input is a sequence of items.
  public var inputIsSequence: Bool
  /// The main output is a sequence of items.
  public var outputIsSequence: Bool
  /// Outputs beside the main one.
  public var outputs: [Output]
  /// The main output may have no end.
  public var isStreaming: Bool

  /// The cap that `urn` names.
  public init(
    _ urn: String, title: String? = nil, inputIsSequence: Bool = false,
    outputIsSequence: Bool = false, outputs: [Output] = [], isStreaming: Bool = false
  ) {
    self.urn = urn
    self.title = title
    self.inputIsSequence = inputIsSequence
    self.outputIsSequence = outputIsSequence
    self.outputs = outputs
    self.isStreaming = isStreaming
  }

  public init(stringLiteral urn: String) { self.init(urn) }

  var declaration: CapDeclaration {
    CapDeclaration(
      urn: urn, title: title, inputSequence: inputIsSequence, outputSequence: outputIsSequence,
      outputs: outputs.map { OutputDeclaration(media: $0.media, sequence: $0.isSequence) },
      streaming: isStreaming)
  }
}
