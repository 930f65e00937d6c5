//! Runs a lane loop compiled for the widest vectors that the host has.
//!
//! The crate is built for the baseline of its target. Lane loops are most of an emulated kernel's time, so
//! each exists twice: for the baseline, and for AVX2 with FMA. The choice is made once per wave instruction.
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
        if has_avx2() {
            // SAFETY: `avx2` is a safe function but for its target features, and `has_avx2` has just said that
            // this machine has every one of them.
            return unsafe { avx2(job) };
        }
    }
    baseline(job)
}

/// Runs `job` with the vectors that every machine of the target has.
#[inline(never)]
fn baseline<J: Job>(job: J) -> J::Out {
    job.run()
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn has_avx2() -> bool {
    static HAS: LazyLock<bool> = LazyLock::new(|| {
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("lzcnt")
    });
    *HAS
}
