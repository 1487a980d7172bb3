//! Memory of this process, for the summary.

use sluicegate::Memory;

/// What this process holds, where the system tells it.
pub fn own() -> Option<Memory> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib.saturating_mul(1024))
    };
    Some(Memory { resident: field("VmRSS:")?, peak: field("VmHWM:")? })
}
