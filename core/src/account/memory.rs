//! [`Memory`]: what a process holds.

/// Memory of a process, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// What it holds now.
    pub resident: u64,
    /// The most it ever held.
    pub peak: u64,
}

impl Memory {
    /// The memory of this process, where the system tells it (Linux does).
    #[must_use]
    pub fn of_this() -> Option<Memory> {
        Memory::of_process(std::process::id())
    }

    /// The memory of a process that lives, where the system tells it (Linux does).
    #[must_use]
    pub fn of_process(pid: u32) -> Option<Memory> {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name))?;
            let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
            Some(kib.saturating_mul(1024))
        };
        Some(Memory { resident: field("VmRSS:")?, peak: field("VmHWM:")? })
    }
}
