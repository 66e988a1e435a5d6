//! The summary below an answer in the shell: rows, time and speed.

use crate::connection::Finished;
use crate::figures::{bytes_text, count_text};

/// `3 rows in set. Elapsed: 0.004 sec. Processed 8.19 thousand rows, 65.54 KB (..)`
pub(crate) fn summary(finished: &Finished) -> String {
    let rows = if finished.has_rows { finished.figures.result_rows } else { 0 };
    let seconds = finished.elapsed.as_secs_f64();
    let noun = if rows == 1 { "row" } else { "rows" };
    let mut text = format!("{rows} {noun} in set. Elapsed: {seconds:.3} sec.");
    let read = finished.figures.read_rows + finished.figures.written_rows;
    let bytes = finished.figures.read_bytes + finished.figures.written_bytes;
    if read > 0 && seconds > 0.0 {
        text.push_str(&format!(
            " Processed {} rows, {} ({} rows/s., {}/s.)",
            count_text(read as f64),
            bytes_text(bytes as f64),
            count_text(read as f64 / seconds),
            bytes_text(bytes as f64 / seconds),
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use basalt_engine::ProgressSnapshot;

    use super::*;

    fn check(result_rows: u64, read_rows: u64, expected: &str) {
        let figures =
            ProgressSnapshot { result_rows, read_rows, read_bytes: read_rows * 8, ..Default::default() };
        let finished = Finished { has_rows: true, figures, elapsed: Duration::from_millis(500) };
        assert_eq!(summary(&finished), expected);
    }

    #[test]
    fn summary_counts_rows_and_rates() {
        check(1, 0, "1 row in set. Elapsed: 0.500 sec.");
        check(
            0,
            1500,
            "0 rows in set. Elapsed: 0.500 sec. Processed 1.50 thousand rows, 12.00 KB (3.00 thousand rows/s., 24.00 KB/s.)",
        );
    }
}
