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
        match Vectors::chosen() {
            // SAFETY: `avx512` is a safe function but for its target features, and [`Vectors::chosen`] has found that this
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

/// Proof that this machine has what `avx512` above asks for, and that it is to be used.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx512(());

#[cfg(target_arch = "x86_64")]
impl Avx512 {
    pub(crate) fn get() -> Option<Self> {
        (Vectors::chosen() == Vectors::Avx512).then_some(Self(()))
    }
}

/// Proof that this machine has AVX2, and that it is to be used.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx2(());

#[cfg(all(target_arch = "x86_64", not(miri)))]
impl Avx2 {
    pub(crate) fn get() -> Option<Self> {
        (Vectors::chosen() >= Vectors::Avx2).then_some(Self(()))
    }
}

/// Vectors that a machine may have.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Vectors {
    Baseline,
    Avx2,
    Avx512,
}

#[cfg(target_arch = "x86_64")]
impl Vectors {
    /// Those that this thread uses. This machine has them.
    #[inline]
    pub(crate) fn chosen() -> Self {
        #[cfg(test)]
        return (*VECTORS).min(limit::get());
        #[cfg(not(test))]
        *VECTORS
    }

    fn of_this_machine() -> Self {
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
            (true, true) => Self::Avx512,
            (true, false) => Self::Avx2,
            (false, _) => Self::Baseline,
        }
    }

    /// The most that `ASSAY_VECTORS` permits: `baseline`, `avx2`; anything else permits all.
    fn permitted() -> Self {
        match std::env::var("ASSAY_VECTORS").as_deref() {
            Ok("baseline") => Self::Baseline,
            Ok("avx2") => Self::Avx2,
            _ => Self::Avx512,
        }
    }
}

#[cfg(target_arch = "x86_64")]
static VECTORS: LazyLock<Vectors> = LazyLock::new(|| Vectors::of_this_machine().min(Vectors::permitted()));

/// Tests run with fewer vectors than the machine has.
#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) mod limit {
    use super::Vectors;
    use std::cell::Cell;

    thread_local! {
        static LIMIT: Cell<Vectors> = const { Cell::new(Vectors::Avx512) };
    }

    pub(super) fn get() -> Vectors {
        LIMIT.get()
    }

    /// Runs `test` with at most these vectors, on this thread.
    pub(crate) fn with<R>(vectors: Vectors, test: impl FnOnce() -> R) -> R {
        let before = LIMIT.replace(vectors);
        let result = test();
        LIMIT.set(before);
        result
    }
}
