//! What the shell says below an answer: rows, time, and how fast they were read.

use crate::connection::Finished;

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

/// `1.23 million`
pub(crate) fn count_text(count: f64) -> String {
    scaled(count, &["", " thousand", " million", " billion", " trillion"])
}

/// `1.23 MB`
pub(crate) fn bytes_text(bytes: f64) -> String {
    scaled(bytes, &[" B", " KB", " MB", " GB", " TB"])
}

/// `units` go up by a thousand each.
fn scaled(mut figure: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while figure >= 1000.0 && unit + 1 < units.len() {
        figure /= 1000.0;
        unit += 1;
    }
    format!("{figure:.2}{}", units[unit])
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

    #[test]
    fn largest_unit_takes_the_rest() {
        assert_eq!(count_text(5e15), "5000.00 trillion");
        assert_eq!(bytes_text(0.0), "0.00 B");
    }
}
