//! What a number of runs proves about the rate of failures.

/// The largest rate of failures that `errors` in `runs` leave possible, at 95 % (Clopper and Pearson, one-sided). For no error it is
/// 1 − 0.05^(1/runs), which is 3/runs as soon as there are many. 1 where nothing ran.
pub fn upper(errors: usize, runs: usize) -> f64 {
    if errors >= runs {
        return 1.0;
    }
    if errors == 0 {
        return 1.0 - 0.05_f64.powf(1.0 / runs as f64);
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if at_most(errors, runs, middle) > 0.05 { low = middle } else { high = middle }
    }
    high
}

/// The probability of at most `errors` failures in `runs`, each with probability `rate`.
fn at_most(errors: usize, runs: usize, rate: f64) -> f64 {
    let (log, log_other) = (rate.ln(), (-rate).ln_1p());
    let mut choose = 0.0; // ln of the binomial coefficient
    let mut sum = 0.0;
    for k in 0..=errors {
        if k > 0 {
            choose += ((runs - k + 1) as f64).ln() - (k as f64).ln();
        }
        sum += (choose + k as f64 * log + (runs - k) as f64 * log_other).exp();
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::upper;

    #[test]
    fn clean_runs_leave_three_over_n() {
        assert!((upper(0, 200) - 0.014_867).abs() < 1e-6);
        for runs in [50, 200, 1000] {
            assert!((upper(0, runs) * runs as f64 - 3.0).abs() < 0.1, "{runs}");
        }
        assert!((upper(0, 0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn failures_leave_more() {
        // The tables of Clopper and Pearson have 4.7 / 100 and 10 / 100 in this direction.
        assert!((upper(1, 100) - 0.046_557).abs() < 1e-4);
        assert!((upper(5, 100) - 0.102_253).abs() < 1e-4);
        assert!((upper(7, 7) - 1.0).abs() < 1e-12);
    }
}
