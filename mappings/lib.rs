//! Where the rules and the snapshots of schemas are: data for build scripts, and for programs that read TorchScript.

/// The folder that holds `aten/`, `onnx/`, `lib/`, `schemas/`, `targets/` and the `.toml` files beside them.
pub const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

/// `schemas/torchscript.txt`: operators by their names, and overloads in the order in which libtorch tries them.
pub const TORCHSCRIPT: &str = include_str!("schemas/torchscript.txt");

/// The lines of [`TORCHSCRIPT`] about an operator, such as `aten::add`: one for each overload.
///
/// The lines are in the order of names, so that no table of all has to be made first.
pub fn torchscript_overloads(operator: &str) -> impl Iterator<Item = &'static str> {
    let (mut low, mut high) = (0, TORCHSCRIPT.len());
    while low < high {
        let middle = line_start(low.midpoint(high));
        if is_before(line_at(middle), operator) {
            low = middle + line_at(middle).len() + 1;
        } else {
            high = middle;
        }
    }
    TORCHSCRIPT.get(low..).unwrap_or_default().lines().take_while(move |line| name(line) == operator)
}

/// Where the line begins that holds this byte.
fn line_start(at: usize) -> usize {
    TORCHSCRIPT.as_bytes()[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)
}

/// The line that begins here.
fn line_at(start: usize) -> &'static str {
    TORCHSCRIPT.get(start..).unwrap_or_default().lines().next().unwrap_or_default()
}

fn name(line: &str) -> &str {
    line.split(['.', '(']).next().unwrap_or_default()
}

fn is_before(line: &str, operator: &str) -> bool {
    line.starts_with('#') || name(line) < operator
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operator_has_the_lines_of_its_name() {
        let mut lines = TORCHSCRIPT.lines().skip_while(|line| line.starts_with('#')).peekable();
        let mut count = 0;
        while let Some(first) = lines.peek().copied() {
            let found: Vec<&str> = torchscript_overloads(name(first)).collect();
            assert!(!found.is_empty(), "{first}");
            count += found.len();
            for line in found {
                assert_eq!(lines.next(), Some(line));
            }
        }
        assert!(count > 4000, "{count}");
        for unknown in ["", "aten::", "aten::ad", "aten::addd", "zz", "#"] {
            assert_eq!(torchscript_overloads(unknown).count(), 0, "{unknown}");
        }
    }
}
