//! Plots as inline SVG.

use super::facts::Compared;
use super::html::escaped;

/// The smallest and largest decimal exponents of the axis; smaller and larger differences count as these.
const EXPONENTS: std::ops::RangeInclusive<i32> = -12..=2;
const COLUMN: i32 = 30;
const HEIGHT: i32 = 80;

/// A bar of `part` in `whole`.
pub fn bar(part: u64, whole: u64) -> String {
    let width = if whole == 0 { 0.0 } else { 200.0 * part as f64 / whole as f64 };
    format!(
        "<svg class=\"bar\" width=\"200\" height=\"10\" aria-hidden=\"true\"><rect width=\"{width:.1}\" height=\"10\"/></svg>"
    )
}

/// The number of elements by the decimal exponent of their difference. The heights are logarithms, so that one wrong element is seen.
pub fn differences(compared: &Compared) -> String {
    let mut columns = vec![("0".to_owned(), compared.differences.get("exact").copied().unwrap_or(0))];
    for exponent in EXPONENTS {
        let is_here = |key: &str| {
            key.parse::<i32>().is_ok_and(|found| found.clamp(*EXPONENTS.start(), *EXPONENTS.end()) == exponent)
        };
        let here = compared.differences.iter().filter(|(key, _)| is_here(key)).map(|(_, count)| *count);
        columns.push((format!("1e{exponent}"), here.sum()));
    }
    let height = |count: u64| (count as f64 + 1.0).log10();
    let most = columns.iter().map(|(_, count)| height(*count)).fold(0.1, f64::max);
    let width = COLUMN * columns.len() as i32;
    let total = HEIGHT + 30;
    let shown: Vec<String> = columns.iter().filter(|(_, n)| *n > 0).map(|(at, n)| format!("{at}: {n}")).collect();
    let label =
        escaped(&format!("Elements of {} by the size of their difference: {}", compared.name, shown.join(", ")));
    let mut svg = format!(
        "<svg class=\"plot\" role=\"img\" aria-label=\"{label}\" width=\"{width}\" height=\"{total}\" viewBox=\"0 0 {width} {total}\">"
    );
    for (i, (title, count)) in columns.iter().enumerate() {
        let x = COLUMN * i as i32;
        let tall = if *count == 0 { 0.0 } else { (height(*count) / most * f64::from(HEIGHT)).max(2.0) };
        let top = f64::from(HEIGHT) + 12.0 - tall;
        let class = if i == 0 { " class=\"exact\"" } else { "" };
        svg.push_str(&format!(
            "<rect{class} x=\"{}\" y=\"{top:.1}\" width=\"{}\" height=\"{tall:.1}\"/>",
            x + 3,
            COLUMN - 6
        ));
        let middle = x + COLUMN / 2;
        if *count > 0 {
            svg.push_str(&format!("<text x=\"{middle}\" y=\"{:.1}\">{}</text>", top - 2.0, short(*count)));
        }
        svg.push_str(&format!("<text x=\"{middle}\" y=\"{}\">{title}</text>", HEIGHT + 24));
    }
    svg.push_str("</svg>");
    svg
}

/// `950`, `12k`, `3M`
fn short(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}M", count / 1_000_000),
    }
}
