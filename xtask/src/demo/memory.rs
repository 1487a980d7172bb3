//! What each process held at most, as `sluicegate pipe --json` sums it up.

use anyhow::{Context, Result, bail};
use serde_json::Value as Json;

use super::MIB;

/// No process may hold more than this over what it holds idle.
const MOST_OVER_IDLE: u64 = 64 * MIB;

/// Prints a table, and fails if a process has grown past the limit.
pub fn report(summary: &str) -> Result<()> {
    let summary: Json = serde_json::from_str(summary.trim()).context("the summary is not JSON")?;
    let hops = summary["hops"].as_array().context("the summary lists no hops")?;
    println!("\n{:>14} {:>10} {:>10} {:>10}", "memory, MiB", "idle", "peak", "over idle");
    let mut grown = Vec::new();
    for hop in hops {
        let name = hop["name"].as_str().unwrap_or("?");
        let field = |field: &str| {
            hop["memory"][field]
                .as_u64()
                .with_context(|| format!("{name}: no {field} memory in the summary"))
        };
        let (idle, peak) = (field("idle")?, field("peak")?);
        let over = peak.saturating_sub(idle);
        println!("{:>14} {:>10.1} {:>10.1} {:>10.1}", short(name), mib(idle), mib(peak), mib(over));
        if over > MOST_OVER_IDLE {
            grown.push(name);
        }
    }
    if let Some(peak) = summary["memory"]["peak"].as_u64() {
        println!("{:>14} {:>10} {:>10.1}", "sluicegate", "", mib(peak));
    }
    if grown.is_empty() {
        return Ok(());
    }
    bail!("more than {} MiB over idle: {}", MOST_OVER_IDLE / MIB, grown.join(", "))
}

/// The last part of a path, which tells programs apart.
fn short(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(peak: u64) -> String {
        format!(
            r#"{{"hops":[{{"name":"a","memory":{{"idle":1000,"peak":{peak}}}}}],"memory":null}}"#
        )
    }

    #[test]
    fn a_process_that_grew_is_named() {
        report(&summary(1000 + MOST_OVER_IDLE)).expect("just within the limit");
        assert!(
            report(&summary(1001 + MOST_OVER_IDLE))
                .expect_err("over the limit")
                .to_string()
                .ends_with(": a")
        );
    }

    #[test]
    fn a_figure_that_is_not_there_is_no_zero() {
        assert!(report(r#"{"hops":[{"name":"a","memory":{}}]}"#).is_err());
    }
}
