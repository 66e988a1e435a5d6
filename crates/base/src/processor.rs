//! Runs a loop compiled for what most processors have and the oldest ones lack.
//!
//! The program is built for every 64-bit processor. A loop that shifts and multiplies for each row is a third
//! shorter with the instructions of the last ten years; such a loop is compiled twice, and the processor says
//! which of the two runs.

/// A loop, with all that it needs. `run` must be `#[inline(always)]`, and what it calls too: only what is inlined is
/// compiled twice.
pub trait Loop {
    type Output;

    fn run(self) -> Self::Output;
}

/// Runs `work`, in the form for this processor.
#[inline(always)]
pub fn run<W: Loop>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
    {
        // SAFETY: the processor has these instructions.
        return unsafe { run_wide(work) };
    }
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn run_wide<W: Loop>(work: W) -> W::Output {
    work.run()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sum<'a>(&'a [u64]);

    impl Loop for Sum<'_> {
        type Output = u64;

        #[inline(always)]
        fn run(self) -> u64 {
            self.0.iter().fold(0, |sum, &number| sum.wrapping_mul(31) ^ (number >> (sum & 63)))
        }
    }

    #[test]
    fn both_forms_give_the_same() {
        let numbers: Vec<u64> = (0..1000_u64).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        assert_eq!(run(Sum(&numbers)), Sum(&numbers).run());
    }
}
