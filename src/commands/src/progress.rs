//! The line that shows how much of a large model is written.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use super::text;

/// Larger models get a line.
const LONG: u64 = 256 << 20;

/// The line is drawn again after this time.
const PAUSE: Duration = Duration::from_millis(50);

/// The number of characters of the bar.
const WIDTH: u64 = 40;

/// A line on the terminal, if there is one and the model is large.
pub(super) struct Line {
    is_wanted: bool,
    start: Instant,
    drawn: Option<Instant>,
}

impl Line {
    /// A line that is not drawn yet.
    pub(super) fn new(quiet: bool) -> Line {
        Line { is_wanted: !quiet && io::stderr().is_terminal(), start: Instant::now(), drawn: None }
    }

    /// Draws the line, unless that was just done.
    pub(super) fn show(&mut self, done: u64, total: u64) {
        if !self.is_wanted || total < LONG || self.drawn.is_some_and(|time| time.elapsed() < PAUSE) {
            return;
        }
        self.drawn = Some(Instant::now());
        draw(&drawing(done, total, self.start.elapsed()));
    }

    /// Clears the line.
    pub(super) fn clear(&mut self) {
        if self.drawn.take().is_some() {
            draw("");
        }
    }
}

/// Replaces what the line of the terminal shows. An export does not fail because of it.
fn draw(line: &str) {
    let mut terminal = anstream::stderr().lock();
    let _ = write!(terminal, "\r\x1b[2K{line}").and_then(|()| terminal.flush());
}

/// The bar, the bytes, and the bytes in a second.
fn drawing(done: u64, total: u64, time: Duration) -> String {
    let done = done.min(total);
    let part = |whole: u64| (u128::from(done) * u128::from(whole) / u128::from(total.max(1))) as usize;
    let filled = part(WIDTH);
    let bar = "#".repeat(filled) + &"-".repeat(WIDTH as usize - filled);
    let rate = done as f64 / time.as_secs_f64().max(1e-3);
    format!("  {bar} {} of {}, {}/s", text::bytes(done), text::bytes(total), text::bytes(rate as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_is_as_long_as_the_part_that_is_done() {
        let shown = |done| drawing(done, 400_000_000, Duration::from_secs(2));
        assert_eq!(
            shown(100_000_000),
            format!("  {}{} 100.0 MB of 400.0 MB, 50.0 MB/s", "#".repeat(10), "-".repeat(30))
        );
        assert!(shown(0).contains(&"-".repeat(40)));
        assert!(shown(u64::MAX).contains(&"#".repeat(40)));
        assert!(drawing(0, 0, Duration::ZERO).contains("0 bytes of 0 bytes"));
    }

    #[test]
    fn a_line_that_was_not_drawn_is_not_cleared() {
        let mut line = Line { is_wanted: true, start: Instant::now(), drawn: None };
        line.show(1, LONG - 1);
        assert!(line.drawn.is_none());
        line.clear();
        let mut quiet = Line::new(true);
        quiet.show(1, LONG);
        assert!(quiet.drawn.is_none());
    }
}
