//! Adds opsets to `opsets.toml`: a line for each, and the newest one.

use std::collections::BTreeMap;

use aten2onnx_schemas::facts::Opsets;

/// The text with all opsets up to `newest`, and those that are new. `releases`: by opset, the first release that has it and its IR version.
///
/// # Errors
/// The text is damaged, or an opset has no release.
pub fn extended(
    text: &str,
    releases: &BTreeMap<u32, (String, u32)>,
    newest: u32,
) -> Result<(String, Vec<u32>), String> {
    let known = Opsets::parse(text)?.max;
    if newest <= known {
        return Ok((text.to_owned(), Vec::new()));
    }
    let added: Vec<u32> = (known + 1..=newest).collect();
    let mut lines = Vec::new();
    for opset in &added {
        let (onnx, ir) = releases.get(opset).ok_or_else(|| format!("no release of ONNX has opset {opset}"))?;
        lines.push(format!("{opset} = {{ onnx = \"{onnx}\", ir = {ir} }}"));
    }
    let mut out: Vec<String> = Vec::new();
    for line in text.lines() {
        let is_newest = line.split('=').next().is_some_and(|key| key.trim() == "max");
        out.push(if is_newest { format!("max = {newest}") } else { line.to_owned() });
        if line.split('=').next().is_some_and(|key| key.trim() == known.to_string()) {
            out.append(&mut lines);
        }
    }
    let text = out.join("\n") + "\n";
    let read = Opsets::parse(&text)?;
    match read.max == newest {
        true => Ok((text, added)),
        false => Err("there is no line `max = ..`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "min = 9\nmax = 10\ndefault = 9\n\n[opsets]\n9 = { onnx = \"1.4.1\", ir = 4 }\n10 = { onnx = \"1.5.0\", ir = 5 }\n\n# The rest.\n";

    #[test]
    fn opsets_are_added_once() -> Result<(), String> {
        let releases = BTreeMap::from([(11, ("1.6.0".to_owned(), 6)), (12, ("1.7.0".to_owned(), 7))]);
        let (text, added) = extended(TEXT, &releases, 12)?;
        assert_eq!(added, [11, 12]);
        assert!(
            text.contains("max = 12\n") && text.ends_with("12 = { onnx = \"1.7.0\", ir = 7 }\n\n# The rest.\n"),
            "{text}"
        );
        assert_eq!(extended(&text, &releases, 12)?, (text, Vec::new()));
        Ok(())
    }

    #[test]
    fn an_opset_without_a_release_is_an_error() {
        assert!(extended(TEXT, &BTreeMap::new(), 11).is_err_and(|error| error.contains("opset 11")));
    }
}
