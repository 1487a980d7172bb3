//! What each kernel takes for payloads of several sizes, beside the loop that defines the checksum.
//!
//! `cargo run --release -p sluicegate-checksum --example checksum_cost`

use std::hint::black_box;
use std::time::Instant;

use sluicegate_checksum::{Kernel, START};

const SIZES: [usize; 7] = [64, 256, 512, 1 << 10, 4 << 10, 64 << 10, 256 << 10];
/// Each size and kernel takes turns; the best round counts, as other programs run beside this one.
const ROUNDS: usize = 15;
const BYTES_A_ROUND: usize = 8 << 20;

fn main() {
    let data: Vec<u8> =
        (0..256_u32 << 10).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let kernels = Kernel::all();
    println!("{:>10} {:>8} {:>8} {:>8}", "bytes", "kernel", "GB/s", "ratio");
    for size in SIZES {
        let mut best = vec![f64::INFINITY; kernels.len()];
        for _ in 0..ROUNDS {
            for (kernel, best) in kernels.iter().zip(&mut best) {
                *best = best.min(seconds_a_byte(*kernel, &data[..size]));
            }
        }
        for (kernel, took) in kernels.iter().zip(&best) {
            println!(
                "{size:>10} {:>8} {:>8.2} {:>8.2}",
                kernel.name(),
                1e-9 / took,
                best[0] / took
            );
        }
    }
}

fn seconds_a_byte(kernel: Kernel, payload: &[u8]) -> f64 {
    let times = BYTES_A_ROUND / payload.len();
    let began = Instant::now();
    let mut state = START;
    for _ in 0..times {
        state = kernel.extend(state, black_box(payload));
    }
    black_box(state);
    began.elapsed().as_secs_f64() / (times * payload.len()) as f64
}
