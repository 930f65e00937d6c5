//! Handlers compiled for the widest vectors that the host has.
//!
//! A handler whose work is a loop over lanes exists three times, as [`crate::wide`] says. Which one runs is decided when an
//! instruction is decoded, so that executing it needs neither the decision nor a second call.
#![allow(unsafe_code, reason = "a function with target features can be called only through an unsafe block")]

use super::cx::{Cx, Handler, Step};
use super::uop::Uop;
#[cfg(target_arch = "x86_64")]
use crate::wide::Vectors;

/// An operation on lanes. `run` is `#[inline(always)]`, and so is all of it that loops over lanes.
pub(in crate::exec) trait Operation {
    fn run(c: &mut Cx<'_>, u: &Uop) -> Step;
}

/// The handler of an operation on this machine.
pub(in crate::exec) fn vectorised<O: Operation>() -> Handler {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,popcnt,lzcnt")]
        fn avx2<O: Operation>(c: &mut Cx<'_>, u: &Uop) -> Step {
            O::run(c, u)
        }
        #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
        #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,popcnt,lzcnt")]
        fn avx512<O: Operation>(c: &mut Cx<'_>, u: &Uop) -> Step {
            O::run(c, u)
        }
        match Vectors::chosen() {
            // SAFETY: `avx512` is a safe function but for its target features, and [`Vectors::chosen`] has found that this
            // machine has every one of them.
            Vectors::Avx512 => return |c, u| unsafe { avx512::<O>(c, u) },
            // SAFETY: as above, for `avx2`.
            Vectors::Avx2 => return |c, u| unsafe { avx2::<O>(c, u) },
            Vectors::Baseline => {}
        }
    }
    O::run
}

/// The handler of an operation that is written as a closure of the context and the instruction, or as a function of them.
macro_rules! lanewise {
    (|$c:ident, $u:ident| $body:expr) => {{
        struct Body;
        impl $crate::exec::core::vectorised::Operation for Body {
            #[inline(always)]
            fn run(
                $c: &mut $crate::exec::core::cx::Cx<'_>,
                $u: &$crate::exec::core::uop::Uop,
            ) -> $crate::exec::core::cx::Step {
                $body
            }
        }
        $crate::exec::core::vectorised::vectorised::<Body>()
    }};
    ($function:expr) => {
        lanewise!(|c, u| $function(c, u))
    };
}
pub(in crate::exec) use lanewise;
