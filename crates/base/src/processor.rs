//! Runs a loop compiled for several instruction sets.
//!
//! The program is built for the x86-64 baseline, whose vectors hold two 64-bit numbers and cannot multiply them. A
//! loop that shifts and multiplies for each row is a third shorter with AVX2, and an element-wise loop over numbers
//! is up to ten times faster in wide vectors. Such a loop is also compiled for AVX2 and AVX-512, and the processor
//! decides which one runs:
//!
//! ```
//! # use basalt_base::processor;
//! # let numbers = [1u64, 2, 3];
//! let squares: Vec<u64> = processor::run(
//!     #[inline(always)]
//!     || numbers.iter().map(|&n| n * n).collect(),
//! );
//! ```
//!
//! The results are the same bit for bit: the compiler neither reorders nor fuses operations on floats. The dispatch
//! costs a few loads, which is worth it for a block of rows and not for one row.

/// A loop with its inputs: a closure, or a type of its own. `run` and everything that it calls must be
/// `#[inline(always)]`, because only inlined code is compiled for each instruction set.
pub trait Loop {
    /// Whether AVX-512 helps. It is slower than AVX2 where each row waits for the mask of one comparison.
    const IS_WIDEST: bool = true;

    type Output;

    fn run<F: Form>(self) -> Self::Output;
}

/// An instruction set that a loop is compiled for.
///
/// The trait is sealed, and only [`run`] and [`run_all`] give a loop a form beyond the baseline: code that computes
/// in a form may use its instructions.
pub trait Form: sealed::Sealed {
    const VECTORS: Vectors;
}

mod sealed {
    pub trait Sealed {}
}

/// The vector instructions of a [`Form`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vectors {
    /// The baseline.
    Any,
    Avx2,
    Avx512,
}

/// The baseline form.
#[derive(Debug)]
pub enum Plain {}

impl sealed::Sealed for Plain {}

impl Form for Plain {
    const VECTORS: Vectors = Vectors::Any;
}

#[cfg(target_arch = "x86_64")]
enum Wide {}

#[cfg(target_arch = "x86_64")]
impl sealed::Sealed for Wide {}

#[cfg(target_arch = "x86_64")]
impl Form for Wide {
    const VECTORS: Vectors = Vectors::Avx2;
}

#[cfg(target_arch = "x86_64")]
enum Widest {}

#[cfg(target_arch = "x86_64")]
impl sealed::Sealed for Widest {}

#[cfg(target_arch = "x86_64")]
impl Form for Widest {
    const VECTORS: Vectors = Vectors::Avx512;
}

impl<R, C: FnOnce() -> R> Loop for C {
    type Output = R;

    #[inline(always)]
    fn run<F: Form>(self) -> R {
        self()
    }
}

/// Runs `work` in the best form for this processor.
#[inline(always)]
pub fn run<W: Loop>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    {
        let has_avx2 = has_avx2();
        if has_avx2 && W::IS_WIDEST && has_avx512() {
            // SAFETY: the processor has these instructions.
            return unsafe { run_widest(work) };
        }
        if has_avx2 {
            // SAFETY: as above.
            return unsafe { run_wide(work) };
        }
    }
    work.run::<Plain>()
}

/// The results of `work` in every form that this processor supports. For tests, which compare them.
pub fn run_all<W: Loop>(work: impl Fn() -> W) -> Vec<W::Output> {
    let mut outputs = vec![work().run::<Plain>()];
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: the processor has these instructions.
        outputs.push(unsafe { run_wide(work()) });
        if has_avx512() {
            // SAFETY: as above.
            outputs.push(unsafe { run_widest(work()) });
        }
    }
    outputs
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt")]
fn run_widest<W: Loop>(work: W) -> W::Output {
    work.run::<Widest>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn run_wide<W: Loop>(work: W) -> W::Output {
    work.run::<Wide>()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sum<'a>(&'a [u64]);

    impl Loop for Sum<'_> {
        type Output = u64;

        #[inline(always)]
        fn run<F: Form>(self) -> u64 {
            self.0.iter().fold(0, |sum, &number| sum.wrapping_mul(31) ^ (number >> (sum & 63)))
        }
    }

    #[test]
    fn all_forms_give_the_same() {
        let numbers: Vec<u64> = (0..1000_u64).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let expected = run(Sum(&numbers));
        assert_eq!(run(|| Sum(&numbers).run::<Plain>()), expected);
        run_all(|| Sum(&numbers)).into_iter().for_each(|sum| assert_eq!(sum, expected));
    }
}
