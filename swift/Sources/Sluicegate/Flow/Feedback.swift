internal import SluicegateCore

/// What the body of a ``Flow/feedback(_:_:)`` makes of an element.
public enum Feedback<Element: Sendable, Output: Sendable>: Sendable {
  /// It goes through the body once more, behind what waits there.
  case again(Element)
  /// It leaves.
  case out(Output)
}

extension Feedback: Equatable where Element: Equatable, Output: Equatable {}
extension Feedback: Hashable where Element: Hashable, Output: Hashable {}

extension Flow where Mat == NotUsed {
  /// Each element through `body`, again and again until that answers ``Feedback/out(_:)``: a cycle with a
  /// buffer.
  ///
  /// At most `capacity` elements are in the loop, and each has a place there: a new one is asked for above
  /// only while one is free. So the loop never waits for itself, as long as `body` makes exactly one
  /// element of each: ``map(_:)``, ``scan(_:_:)``, ``mapAsync(_:ordered:_:)``, ``buffer(_:size:)`` and the
  /// like. The stream ends once the upstream has and nothing is left in the loop, or when `body` ends.
  ///
  /// Throws `planRefused`, with the reason, for a capacity of 0, which is a cycle without a buffer, and for
  /// a `body` that may make more or fewer elements than it is given.
  public static func feedback<Other>(
    _ capacity: UInt64, _ body: Flow<In, Feedback<In, Out>, Other>
  ) throws(SluicegateError) -> Self {
    let rounds = Rounding { token in
      switch look(token, as: Feedback<In, Out>.self) {
      case .again(let element): .again(token: give(element))
      case .out(let output): .out(token: give(output))
      }
    }
    let core = try translating {
      try flowFeedback(capacity: capacity, body: body.core, rounds: rounds)
    }
    return Flow(core, .none())
  }
}

extension Source {
  /// ``Flow/feedback(_:_:)`` behind this source.
  public func feedback<Next, Other>(
    _ capacity: UInt64, _ body: Flow<Out, Feedback<Out, Next>, Other>
  ) throws(SluicegateError) -> Source<Next, Mat> { via(try .feedback(capacity, body)) }
}

/// What stands in an element of the body, for core.
private final class Rounding: Rounds {
  private let body: @Sendable (UInt64) -> RoundReply
  init(_ body: @escaping @Sendable (UInt64) -> RoundReply) { self.body = body }
  func round(token: UInt64) -> RoundReply { body(token) }
}
