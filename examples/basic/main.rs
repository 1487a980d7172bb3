//! A source fed by hand, three stages, a list at the end.

use sluicegate::flow::{EdgeOptions, Flow, Scope, Sink, Source};

fn main() -> Result<(), sluicegate::Error> {
    let scope = Scope::new("basic")?; // owns the threads, and stops them when it goes

    // A blueprint: nothing runs yet, and it can run as often as one likes.
    let graph = Source::manual(EdgeOptions::default())
        .via(Flow::map(|n: u64| n * 2))
        .via(Flow::filter(|n: &u64| n.is_multiple_of(2)))
        .via(Flow::take(3)) // cancels everything above straight after the third
        .to_mat(Sink::collect(), |control, result| (control, result));

    let (control, result) = graph.run(&scope)?;
    for n in 1..=5 {
        control.blocking_offer(n); // waits while the edge is full; says so once nobody wants more
    }
    control.complete();

    for n in result.blocking_wait()? {
        println!("{n}");
    }
    println!("completed");
    Ok(())
}
