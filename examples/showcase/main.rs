//! A chain with a folded result, and a hub with two listeners.

use sluicegate::flow::{
    EdgeOptions, Flow, HubOptions, HubPolicy, Manual, Ops, Scope, Sink, Source,
};

fn line(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
}

fn main() -> Result<(), sluicegate::Error> {
    let scope = Scope::new("showcase")?;

    // The sink's value is the sum of what the chain gives.
    let squares = Source::iter(1..=10_u64).map(|n| n * n);
    let sum = squares.to(Sink::fold(0, |sum, n: u64| sum + n)).run(&scope)?.blocking_wait()?;
    println!("sum of squares: {sum}");

    // A hub shares one source with whoever subscribes; each listener asks for itself. The hub waits
    // for the slower one, so both hear everything.
    let graph = Source::manual(EdgeOptions::default())
        .to_mat(Sink::broadcast_hub(HubOptions::default()), |control: Manual<u64>, hub| {
            (control, hub)
        });
    let (control, hub) = graph.run(&scope)?;
    let all = hub.subscribe(HubPolicy::Wait).to(Sink::collect()).run(&scope)?;
    let evens = hub.subscribe(HubPolicy::Wait).via(Flow::filter(|n: &u64| n.is_multiple_of(2)));
    let evens = evens.to(Sink::collect()).run(&scope)?;
    for n in 1..=5 {
        control.blocking_offer(n);
    }
    control.complete();
    println!("all: {}", line(&all.blocking_wait()?));
    println!("evens: {}", line(&evens.blocking_wait()?));
    Ok(())
}
