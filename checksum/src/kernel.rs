//! Which code computes the checksum, chosen when the program runs.

use std::fmt;

use crate::scalar;

/// Shorter runs go through the loop: a kernel takes as long for them as for a unit.
#[cfg(target_arch = "x86_64")]
const SHORT_AVX2: usize = 320;
#[cfg(target_arch = "x86_64")]
const SHORT_AVX512: usize = 144;

/// A way to compute the checksum. Each gives the same answer.
///
/// There is a value of this type only where the processor can run what it names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Kernel(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Kernel {
    /// The fastest that this processor has. What it has is asked for once a process.
    #[must_use]
    pub fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if crate::x86::has_avx512() {
                return Kernel(Kind::Avx512);
            }
            if crate::x86::has_avx2() {
                return Kernel(Kind::Avx2);
            }
        }
        Kernel(Kind::Scalar)
    }

    /// All that this processor has, slowest first.
    #[must_use]
    pub fn all() -> Vec<Self> {
        #[allow(unused_mut, reason = "other processors add nothing")]
        let mut all = vec![Kernel(Kind::Scalar)];
        #[cfg(target_arch = "x86_64")]
        {
            if crate::x86::has_avx2() {
                all.push(Kernel(Kind::Avx2));
            }
            if crate::x86::has_avx512() {
                all.push(Kernel(Kind::Avx512));
            }
        }
        all
    }

    /// `scalar`, `avx2` or `avx512`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.0 {
            Kind::Scalar => "scalar",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512",
        }
    }

    /// The state after `bytes`, from the state before them.
    #[must_use]
    pub fn extend(self, state: u64, bytes: &[u8]) -> u64 {
        match self.0 {
            Kind::Scalar => scalar::extend(state, bytes),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 if bytes.len() < SHORT_AVX2 => scalar::extend(state, bytes),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 if bytes.len() < SHORT_AVX512 => scalar::extend(state, bytes),
            // SAFETY: a value of this kind is only made where the processor has what the kernel needs.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => unsafe { crate::x86::avx2::extend(state, bytes) },
            // SAFETY: the same.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => unsafe { crate::x86::avx512::extend(state, bytes) },
        }
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}
