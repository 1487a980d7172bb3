"""A chain with a folded result, and a hub with two listeners."""

from sluicegate import flow
from sluicegate.flow import Completion, Hub, HubPolicy, Manual, Scope, Sink, Source


@flow.map
def square(n: int) -> int:
    return n * n


def line(numbers: list[int]) -> str:
    return " ".join(map(str, numbers))


def main() -> None:
    with Scope("showcase") as scope:
        # The sink's value is the sum of what the chain gives.
        add: Sink[int, Completion[int]] = Sink.fold(0, lambda total, n: total + n)
        total = Source.iter(range(1, 11)).via(square).to(add).run(scope)
        print(f"sum of squares: {total.result()}")

        # A hub shares one source with whoever subscribes; each listener asks for itself. The hub
        # waits for the slower one, so both hear everything.
        source: Source[int, Manual[int]] = Source.manual()
        share: Sink[int, Hub[int]] = Sink.broadcast_hub()
        control, hub = source.to_mat(share, lambda control, hub: (control, hub)).run(scope)
        everything = hub.subscribe(HubPolicy.WAIT).to(Sink.collect()).run(scope)
        evens = hub.subscribe(HubPolicy.WAIT).filter(lambda n: n % 2 == 0)
        even = evens.to(Sink.collect()).run(scope)
        for n in range(1, 6):
            control.offer(n)
        control.complete()
        print(f"all: {line(everything.result())}")
        print(f"evens: {line(even.result())}")


if __name__ == "__main__":
    main()
