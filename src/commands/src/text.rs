//! Formats numbers and tables for people.

use std::time::Duration;

use aten2onnx_onnx::Written;

/// `1.2 MB`
pub fn bytes(count: u64) -> String {
    const UNITS: [(&str, f64); 3] = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    match UNITS.into_iter().find(|(_, size)| count as f64 >= *size) {
        Some((unit, size)) => format!("{:.1} {unit}", count as f64 / size),
        None => format!("{count} bytes"),
    }
}

/// `12 ms`, `1.2 s`
pub fn duration(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds >= 1.0 => format!("{seconds:.1} s"),
        seconds => format!("{:.0} ms", (seconds * 1e3).max(1.0)),
    }
}

/// ` (1.2 GB of them linked); wrote 3.4 kB and 1.2 MB to m.onnx.data`
pub fn files(written: &Written) -> String {
    let data = match &written.data {
        Some((path, size)) => format!(" and {} to {}", bytes(*size), path.display()),
        None => String::new(),
    };
    let linked = match written.linked {
        0 => String::new(),
        linked => format!(" ({} of them linked)", bytes(linked)),
    };
    format!("{linked}; wrote {}{data}", bytes(written.model))
}

/// The name of a file without its folder.
pub fn file_name(path: &std::path::Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// `1 node`, `2 nodes`
pub fn count(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A table with aligned columns, separated by two spaces.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// `9-12, 15`
pub fn ranges(numbers: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => runs.push((*number, *number)),
        }
    }
    let run = |(first, last): &(u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    runs.iter().map(run).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(bytes(999), "999 bytes");
        assert_eq!(bytes(1_834_000), "1.8 MB");
        assert_eq!(ranges(&[9, 10, 11, 13, 15, 16]), "9-11, 13, 15-16");
        assert_eq!(duration(Duration::from_micros(10)), "1 ms");
        assert_eq!(table(&[vec!["a".into(), "b".into()], vec!["long".into()]]), "a     b\nlong\n");
    }
}
