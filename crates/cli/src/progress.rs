//! The progress line of long statements.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use basalt_engine::ProgressSnapshot;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::figures::{bytes_text, count_text};

/// Shorter statements show nothing.
const QUIET: Duration = Duration::from_millis(300);

const REFRESH_PER_SECOND: u8 = 10;

/// How often a line is printed if there is no cursor to move.
const PLAIN_PAUSE: Duration = Duration::from_secs(1);

/// A line on standard error that appears for long statements and disappears before their answer.
pub(crate) struct ProgressLine {
    enabled: bool,
    /// Whether standard error is not a terminal, so that each update prints a line.
    plain: bool,
    started: Instant,
    /// When the last line was printed.
    printed: Option<Instant>,
    bar: Option<ProgressBar>,
}

impl ProgressLine {
    /// Shown on a terminal, or if `asked_for`.
    pub(crate) fn new(asked_for: bool) -> ProgressLine {
        let terminal = io::stderr().is_terminal();
        ProgressLine {
            enabled: asked_for || terminal,
            plain: !terminal,
            started: Instant::now(),
            printed: None,
            bar: None,
        }
    }

    /// Never shown.
    pub(crate) fn hidden() -> ProgressLine {
        ProgressLine { enabled: false, plain: true, started: Instant::now(), printed: None, bar: None }
    }

    /// A statement begins.
    pub(crate) fn start(&mut self) {
        self.started = Instant::now();
    }

    pub(crate) fn show(&mut self, figures: &ProgressSnapshot) {
        let elapsed = self.started.elapsed();
        if !self.enabled || elapsed < QUIET {
            return;
        }
        let text = describe(figures, elapsed);
        if self.plain {
            return self.print(&text);
        }
        let bar = self.bar.get_or_insert_with(|| new_bar(figures.total_rows_to_read));
        bar.set_position(figures.read_rows);
        bar.set_message(text);
        bar.tick();
    }

    fn print(&mut self, text: &str) {
        if self.printed.is_none_or(|printed| printed.elapsed() >= PLAIN_PAUSE) {
            self.printed = Some(Instant::now());
            // The statement continues even if the progress cannot be shown.
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    /// Removes the line, so that an answer can be printed there.
    pub(crate) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn new_bar(total_rows: u64) -> ProgressBar {
    let target = ProgressDrawTarget::stderr_with_hz(REFRESH_PER_SECOND);
    let (length, template) = match total_rows {
        0 => (None, "{spinner} {msg}"),
        total => (Some(total), "{spinner} [{bar:30}] {percent}% {msg}"),
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner());
    ProgressBar::with_draw_target(length, target).with_style(style)
}

fn describe(figures: &ProgressSnapshot, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    let (rows, bytes) = (figures.read_rows, figures.read_bytes);
    if rows == 0 {
        return format!("{seconds:.1} sec.");
    }
    format!(
        "{seconds:.1} sec., {} rows, {} ({} rows/s., {}/s.)",
        count_text(rows as f64),
        bytes_text(bytes as f64),
        count_text(rows as f64 / seconds),
        bytes_text(bytes as f64 / seconds),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn description_has_rows_and_rates() {
        let figures = ProgressSnapshot { read_rows: 2_000_000, read_bytes: 16_000_000, ..Default::default() };
        let text = describe(&figures, Duration::from_secs(2));
        assert_eq!(text, "2.0 sec., 2.00 million rows, 16.00 MB (1.00 million rows/s., 8.00 MB/s.)");
        assert_eq!(describe(&ProgressSnapshot::default(), Duration::from_secs(1)), "1.0 sec.");
    }
}
