//! Runs a lane loop compiled for the widest vectors that the host has.
//!
//! The crate is built for the baseline of its target. Lane loops are most of an emulated kernel's time, so
//! each exists three times: for the baseline, for AVX2 with FMA, and for AVX-512. The choice is made once per wave
//! instruction. All compute the same bits.
#![allow(unsafe_code, reason = "a function with target features can be called only through an unsafe block")]

#[cfg(target_arch = "x86_64")]
use std::arch::is_x86_feature_detected;
#[cfg(target_arch = "x86_64")]
use std::sync::LazyLock;

/// A loop over lanes. Implementations are `#[inline(always)]`, so that they take on the caller's features.
pub(crate) trait Job {
    type Out;
    fn run(self) -> Self::Out;
}

/// Runs `job` with the widest vectors there are.
#[inline(always)]
pub(crate) fn widest<J: Job>(job: J) -> J::Out {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,popcnt,lzcnt")]
        fn avx2<J: Job>(job: J) -> J::Out {
            job.run()
        }
        #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
        #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,popcnt,lzcnt")]
        fn avx512<J: Job>(job: J) -> J::Out {
            job.run()
        }
        match *VECTORS {
            // SAFETY: `avx512` is a safe function but for its target features, and `VECTORS` has found that this
            // machine has every one of them.
            Vectors::Avx512 => return unsafe { avx512(job) },
            // SAFETY: as above, for `avx2`.
            Vectors::Avx2 => return unsafe { avx2(job) },
            Vectors::Baseline => {}
        }
    }
    baseline(job)
}

/// Runs `job` with the vectors that every machine of the target has.
#[inline(never)]
fn baseline<J: Job>(job: J) -> J::Out {
    job.run()
}

/// What this machine has.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Vectors {
    Baseline,
    Avx2,
    Avx512,
}

#[cfg(target_arch = "x86_64")]
static VECTORS: LazyLock<Vectors> = LazyLock::new(|| {
    let avx2 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("lzcnt");
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    match (avx2, avx512) {
        (true, true) => Vectors::Avx512,
        (true, false) => Vectors::Avx2,
        (false, _) => Vectors::Baseline,
    }
});
