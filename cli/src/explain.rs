//! `sluicegate explain`: who waits for whom in a running process and its cartridges.

use clap::Args;
use sluicegate::Error;
use sluicegate::account::Explanation;
use sluicegate::control::Question;

use crate::target::Target;

#[derive(Args)]
pub struct Arguments {
    /// The process: its number, or the path of its control socket.
    #[arg(value_name = "PID|SOCKET")]
    target: Target,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let told = arguments.target.ask(Question::Explain)?;
    if arguments.json {
        println!("{told}");
    } else {
        print!("{}", Explanation::from_json(&told));
    }
    Ok(())
}
