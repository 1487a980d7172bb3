internal import SluicegateCore

extension Source where Mat == NotUsed {
  /// The elements of `elements`, from its beginning in each run.
  public init<Elements: Sequence & Sendable>(_ elements: Elements) where Elements.Element == Out {
    self.init { elements.makeIterator() }
  }

  /// What the iterators that `make` makes give, a new one for each run.
  public init<Iterator: IteratorProtocol>(
    _ make: @escaping @Sendable () -> Iterator
  ) where Iterator.Element == Out {
    let core = sourceGenerated(
      make: Generating {
        let box = Iterating(make())
        return Calling { _ in
          guard let element = box.next() else { return .no }
          return .values(tokens: [give(element)])
        }
      })
    self.init(core, .none())
  }

  /// Elements out of a state: `next` gets the state, changes it, and gives an element or `nil` at the
  /// end. What it throws fails the stream.
  public static func unfold<State: Sendable>(
    _ first: State, _ next: @escaping @Sendable (inout State) throws -> Out?
  ) -> Self {
    let core = sourceGenerated(
      make: Generating {
        let box = Iterating(Once(state: first))
        return Calling { _ in
          guard let element = try box.with({ try next(&$0.state) }) else { return .no }
          return .values(tokens: [give(element)])
        }
      })
    return Source(core, .none())
  }

  /// One element.
  public static func single(_ element: Out) -> Self { Source(CollectionOfOne(element)) }

  /// No element, and the end.
  public static func empty() -> Self { Source(EmptyCollection<Out>()) }

  /// No element, and this failure.
  public static func failed(_ error: SluicegateError) -> Self {
    Source(sourceFailed(fault: error.fault), .none())
  }
}

extension Source where Mat == Manual<Out> {
  /// A source that is fed through its control, by an edge of its own. `size` tells the bytes of an
  /// element, for an edge that is limited in bytes.
  ///
  /// Throws `invalidArgument` for a capacity of 0.
  public static func manual(
    _ edge: EdgeOptions = .init(), size: (@Sendable (Out) -> UInt64)? = nil
  ) throws(SluicegateError) -> Self {
    let core = try translating {
      try sourceManual(edge: edge.facts, size: size.map(Calling.sizing))
    }
    return Source(core, .one { run, index in Manual(try run.manual(index: index)) })
  }
}

private struct Once<State> {
  var state: State
}

/// An iterator that one island uses, whatever thread it runs on.
///
/// `@unchecked Sendable`: an island is asked by one thread at a time.
private final class Iterating<Base>: @unchecked Sendable {
  private var base: Base
  init(_ base: Base) { self.base = base }
  func with<R>(_ body: (inout Base) throws -> R) rethrows -> R { try body(&base) }
}

extension Iterating where Base: IteratorProtocol {
  func next() -> Base.Element? { base.next() }
}

/// What became of an element that was offered.
public enum OfferResult: Sendable, Hashable {
  /// It is in the queue.
  case enqueued
  /// It was discarded, and counted.
  case dropped
  /// The queue is completed, or its consumer went away: the element was not taken.
  case queueClosed
  /// The queue has failed, with the same error for everybody: the element was not taken.
  case failure(SluicegateError)

  init(_ facts: OfferFacts) {
    switch facts {
    case .enqueued: self = .enqueued
    case .dropped: self = .dropped
    case .queueClosed: self = .queueClosed
    case .failed(let fault): self = .failure(SluicegateError(fault))
    }
  }
}

/// The control of a manual source. Any task or thread may use it. Releasing the last reference without
/// ``complete()`` or ``fail(_:)`` fails the source.
public final class Manual<Element: Sendable>: Sendable {
  let core: ManualCore
  init(_ core: ManualCore) { self.core = core }

  /// Offers an element. Under backpressure the task waits for room, without holding a thread.
  ///
  /// Throws `timedOut` if `limit` passes first, and `CancellationError`: the element was not taken.
  @discardableResult
  public func offer(
    _ element: Element, within limit: Duration? = nil
  ) async throws -> OfferResult {
    OfferResult(try await core.offer(token: give(element)).answer(within: limit))
  }

  /// Offers an element if that needs no waiting; `nil`: there was no room.
  public func tryOffer(_ element: Element) -> OfferResult? {
    core.tryOffer(token: give(element)).map(OfferResult.init)
  }

  /// The source is done. What was accepted is delivered first. False if it had ended already.
  @discardableResult
  public func complete() -> Bool { core.complete() }

  /// The source fails. What was accepted is delivered first. False if it had ended already.
  @discardableResult
  public func fail(_ error: SluicegateError) -> Bool { core.fail(fault: error.fault) }

  /// How many elements can be offered now without waiting.
  public var demand: UInt64 { core.demand() }
  /// Elements that were accepted and not taken yet.
  public var held: UInt64 { core.held() }
  /// Elements that the overflow strategy discarded.
  public var lost: UInt64 { core.lost() }
  /// True once the source was completed, failed or cancelled from below.
  public var isOver: Bool { core.isOver() }
}
