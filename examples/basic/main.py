"""A source fed by hand, three stages, a list at the end."""

from sluicegate.flow import Completion, Manual, Scope, Sink, Source


def both(
    control: Manual[int], result: Completion[list[int]]
) -> tuple[Manual[int], Completion[list[int]]]:
    return control, result


def main() -> None:
    numbers: Source[int, Manual[int]] = Source.manual()
    # A blueprint: nothing runs yet, and it can run as often as one likes.
    graph = (
        numbers.map(lambda n: n * 2)
        .filter(lambda n: n % 2 == 0)
        .take(3)  # cancels everything above straight after the third
        .to_mat(Sink.collect(), both)
    )
    with Scope("basic") as scope:  # owns the threads, and stops them when it is left
        control, result = graph.run(scope)
        for n in range(1, 6):
            control.offer(n)  # waits while the edge is full; says so once nobody wants more
        control.complete()
        for n in result.result():
            print(n)
    print("completed")


if __name__ == "__main__":
    main()
