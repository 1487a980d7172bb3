internal import SluicegateCore

extension Flow where Mat == NotUsed {
  /// Each element through a run of `flow` of its own for each key, behind an edge of 16 elements; what
  /// the groups give is merged.
  ///
  /// An element for a group whose edge is full holds up those behind it. A group whose flow has ended
  /// takes no more: its later elements are dropped. The stream fails with `limitReached` at the first
  /// key beyond `maxGroups`. `slots` is how many groups can be merged at once, `nil` all of them.
  ///
  /// Throws `invalidArgument` for 0 groups; `planRefused` for fewer slots than groups, which could lock
  /// up: a group without a slot would wait for one for ever.
  public static func groupBy<Key: Hashable & Sendable, Other>(
    _ maxGroups: UInt64, slots: UInt64? = nil,
    key: @escaping @Sendable (In) throws -> Key, _ flow: Flow<In, Out, Other>
  ) throws(SluicegateError) -> Self {
    let keys = Keying<Key> { token in .values(tokens: [give(try key(look(token)))]) }
    let core = try translating {
      try flowGroupBy(
        maxGroups: maxGroups, slots: slots ?? maxGroups, keys: keys, inner: flow.core)
    }
    return Flow(core, .none())
  }
}

extension Source {
  /// ``Flow/groupBy(_:slots:key:_:)`` behind this source.
  public func groupBy<Key: Hashable & Sendable, Next, Other>(
    _ maxGroups: UInt64, slots: UInt64? = nil,
    key: @escaping @Sendable (Out) throws -> Key, _ flow: Flow<Out, Next, Other>
  ) throws(SluicegateError) -> Source<Next, Mat> {
    via(try .groupBy(maxGroups, slots: slots, key: key, flow))
  }
}

/// Keys as core sees them: tokens that it compares by asking here.
private final class Keying<Key: Hashable & Sendable>: Keys {
  private let calling: Calling
  init(_ key: @escaping @Sendable (UInt64) throws -> Reply) {
    calling = Calling { try key($0[0]) }
  }
  func key(token: UInt64) -> Reply { calling.call(tokens: [token]) }
  func hash(key: UInt64) -> UInt64 {
    UInt64(bitPattern: Int64(look(key, as: Key.self).hashValue))
  }
  func same(left: UInt64, right: UInt64) -> Bool { look(left, as: Key.self) == look(right) }
}

extension Sink {
  /// Each element to the sink whose number `choose` says, counted from 0.
  ///
  /// Each sink is behind an edge of its own. An element for one whose edge is full holds up those behind
  /// it; one for a sink that has cancelled is dropped. A number that no sink has fails the stream with
  /// `invalidArgument`.
  public static func partition<M>(
    _ sinks: [Sink<In, M>], _ choose: @escaping @Sendable (In) throws -> Int
  ) -> Self where Mat == [M] {
    let core = sinkPartition(sinks: sinks.map(\.core), choose: Calling.choosing(choose))
    return Sink(core, Yield<M>.all(sinks.map(\.yield)))
  }
}

extension Flow {
  /// Every element through each of `flows`; what they give is merged as it comes.
  public static func broadcast<M>(_ flows: [Flow<In, Out, M>]) -> Self where Mat == [M] {
    Flow(flowFan(how: .broadcast, flows: flows.map(\.core)), Yield<M>.all(flows.map(\.yield)))
  }

  /// Each element through one of `flows` that has room for it; what they give is merged as it comes.
  public static func balance<M>(_ flows: [Flow<In, Out, M>]) -> Self where Mat == [M] {
    Flow(flowFan(how: .balance, flows: flows.map(\.core)), Yield<M>.all(flows.map(\.yield)))
  }

  /// Each element through the flow whose number `choose` says, as ``Sink/partition(_:_:)``; what they
  /// give is merged as it comes.
  public static func partition<M>(
    _ flows: [Flow<In, Out, M>], _ choose: @escaping @Sendable (In) throws -> Int
  ) -> Self where Mat == [M] {
    let core = flowPartition(flows: flows.map(\.core), choose: Calling.choosing(choose))
    return Flow(core, Yield<M>.all(flows.map(\.yield)))
  }
}
