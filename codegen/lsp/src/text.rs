//! Places in a text: the protocol counts lines and UTF-16 units, the checker bytes. And where a place of one text is in a changed one.

use std::ops::Range;

use lsp_types::{Position, Range as LineRange};

/// The first byte of each line of a text.
#[derive(Debug, Clone, Default)]
pub struct LineStarts(Vec<usize>);

impl LineStarts {
    /// Looks at all of a text.
    pub fn of(text: &str) -> LineStarts {
        let bytes = text.as_bytes();
        let after = |at: usize| match (bytes.get(at), bytes.get(at + 1)) {
            (Some(b'\n'), _) => true,
            (Some(b'\r'), next) => next != Some(&b'\n'),
            _ => false,
        };
        let starts = (0..bytes.len()).filter(|at| after(*at)).map(|at| at + 1);
        LineStarts(std::iter::once(0).chain(starts).collect())
    }

    /// The line and the UTF-16 unit of a byte. A byte inside a character is the character's first one.
    pub fn position(&self, text: &str, at: usize) -> Position {
        let at = floor_char(text, at);
        let line = self.0.partition_point(|start| *start <= at).saturating_sub(1);
        let start = self.0.get(line).copied().unwrap_or(0);
        let before = text.get(start..at).unwrap_or("");
        Position::new(line as u32, before.encode_utf16().count() as u32)
    }

    /// The byte of a line and a UTF-16 unit. What is after the end of a line is its end.
    pub fn offset(&self, text: &str, position: Position) -> usize {
        let Some(start) = self.0.get(position.line as usize).copied() else { return text.len() };
        let end = self.0.get(position.line as usize + 1).copied().unwrap_or(text.len());
        let line = text.get(start..end).unwrap_or("").trim_end_matches(['\n', '\r']);
        let mut units = 0;
        for (at, c) in line.char_indices() {
            units += c.len_utf16() as u32;
            if units > position.character {
                return start + at;
            }
        }
        start + line.len()
    }

    /// A range of bytes as one of lines and units.
    pub fn range(&self, text: &str, range: Range<usize>) -> LineRange {
        LineRange::new(self.position(text, range.start), self.position(text, range.end))
    }

    /// The line of a byte.
    pub fn line(&self, at: usize) -> u32 {
        self.0.partition_point(|start| *start <= at).saturating_sub(1) as u32
    }
}

/// The first byte of the character that a byte is in.
pub fn floor_char(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The middle part in which two texts differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    /// Bytes that both begin with.
    prefix: usize,
    /// Bytes that both end with.
    suffix: usize,
    old: usize,
    new: usize,
}

impl Difference {
    /// Compares two texts.
    pub fn of(old: &str, new: &str) -> Difference {
        let (a, b) = (old.as_bytes(), new.as_bytes());
        let prefix = a.iter().zip(b).take_while(|(x, y)| x == y).count();
        let prefix = floor_char(old, prefix).min(floor_char(new, prefix));
        let most = a.len().min(b.len()) - prefix;
        let same = a.iter().rev().zip(b.iter().rev()).take(most).take_while(|(x, y)| x == y).count();
        let suffix = (0..=same)
            .rev()
            .find(|n| old.is_char_boundary(a.len() - n) && new.is_char_boundary(b.len() - n))
            .unwrap_or(0);
        Difference { prefix, suffix, old: a.len(), new: b.len() }
    }

    /// Where a byte of the old text is in the new one. None inside of what differs.
    pub fn to_new(self, at: usize) -> Option<usize> {
        moved(at, self.prefix, self.suffix, self.old, self.new)
    }

    /// Where a byte of the new text was in the old one. None inside of what differs.
    pub fn to_old(self, at: usize) -> Option<usize> {
        moved(at, self.prefix, self.suffix, self.new, self.old)
    }

    /// A range of the old text in the new one.
    pub fn range_to_new(self, range: Range<usize>) -> Option<Range<usize>> {
        let (start, end) = (self.to_new(range.start)?, self.to_new(range.end)?);
        (start <= end).then_some(start..end)
    }

    /// What differs, as ranges of the old and of the new text.
    pub fn parts(self) -> (Range<usize>, Range<usize>) {
        (self.prefix..self.old - self.suffix, self.prefix..self.new - self.suffix)
    }
}

fn moved(at: usize, prefix: usize, suffix: usize, from: usize, to: usize) -> Option<usize> {
    match at {
        at if at <= prefix && (at < prefix || from >= to || prefix + suffix < from) => Some(at),
        at if at + suffix >= from && at <= from => Some(at + to - from),
        at if at <= prefix => Some(at),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_utf16_units() {
        let text = "a𝄞é\r\nb\rc\n";
        let lines = LineStarts::of(text);
        let places = [(0, 0, 0), (1, 0, 1), (5, 0, 3), (7, 0, 4), (9, 1, 0), (11, 2, 0), (13, 3, 0)];
        for (at, line, character) in places {
            assert_eq!(lines.position(text, at), Position::new(line, character), "{at}");
            assert_eq!(lines.offset(text, Position::new(line, character)), at, "{at}");
        }
        // Inside a pair of surrogates, after the end of a line, after the end of the text.
        let others = [(0, 2, 1), (0, 99, 7), (9, 0, text.len())];
        for (line, character, at) in others {
            assert_eq!(lines.offset(text, Position::new(line, character)), at);
        }
        assert_eq!(lines.position(text, 3), Position::new(0, 1));
    }

    #[test]
    fn places_move_with_what_is_around_them() {
        let change = Difference::of("one two three", "one 2 three");
        assert_eq!((change.to_new(3), change.to_new(5), change.to_new(8)), (Some(3), None, Some(6)));
        assert_eq!((change.to_old(3), change.to_old(6), change.to_old(11)), (Some(3), Some(8), Some(13)));
        let same = Difference::of("é", "é");
        assert_eq!((same.to_new(0), same.to_new(2)), (Some(0), Some(2)));
        // The two characters share a byte.
        assert_eq!(Difference::of("é", "è").parts(), (0..2, 0..2));
    }
}
