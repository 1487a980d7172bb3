//! Another Rust library made static: its own allocator, its own unwinding.

#[unsafe(no_mangle)]
pub extern "C" fn other_sum(n: u32) -> u64 {
    let numbers: Vec<u64> = (0..u64::from(n)).collect();
    numbers.iter().sum()
}

/// 1 if a panic inside was caught inside.
#[unsafe(no_mangle)]
pub extern "C" fn other_catches() -> u32 {
    u32::from(std::panic::catch_unwind(|| std::panic::resume_unwind(Box::new(7))).is_err())
}
