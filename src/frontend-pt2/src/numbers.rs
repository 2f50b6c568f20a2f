//! Numbers that JSON does not have: PyTorch 2.6 and 2.7 write `NaN`, `Infinity` and `-Infinity` as Python does, newer versions as strings.

const WORDS: [&[u8]; 3] = [b"NaN", b"Infinity", b"-Infinity"];

/// The text with these numbers as strings, as newer versions write them. None if there are none.
pub(super) fn quoted(text: &[u8]) -> Option<Vec<u8>> {
    let places = places(text);
    if places.is_empty() {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() + 2 * places.len());
    let mut done = 0;
    for (start, word) in places {
        out.extend_from_slice(text.get(done..start)?);
        out.push(b'"');
        out.extend_from_slice(word);
        out.push(b'"');
        done = start + word.len();
    }
    out.extend_from_slice(text.get(done..)?);
    Some(out)
}

/// Where the words stand outside of strings.
fn places(text: &[u8]) -> Vec<(usize, &'static [u8])> {
    let mut found = Vec::new();
    let (mut at, mut is_string) = (0, false);
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' if is_string => at += 1,
            b'"' => is_string = !is_string,
            b'N' | b'I' | b'-' if !is_string => {
                let rest = text.get(at..).unwrap_or_default();
                if let Some(word) = WORDS.into_iter().find(|word| rest.starts_with(word)) {
                    found.push((at, word));
                    at += word.len() - 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::quoted;

    fn changed(text: &str) -> Option<String> {
        quoted(text.as_bytes()).and_then(|bytes| String::from_utf8(bytes).ok())
    }

    #[test]
    fn numbers_become_strings_and_texts_stay() {
        let text = r#"{"a": [NaN, -Infinity, Infinity, -1], "NaN": "-Infinity \" NaN"}"#;
        let wanted = r#"{"a": ["NaN", "-Infinity", "Infinity", -1], "NaN": "-Infinity \" NaN"}"#;
        assert_eq!(changed(text).as_deref(), Some(wanted));
        assert_eq!(changed(wanted), None);
        assert_eq!(changed(r#"{"a": "\\\\", "b": NaN}"#).as_deref(), Some(r#"{"a": "\\\\", "b": "NaN"}"#));
        assert_eq!(changed("{\"a\": \"cut NaN \\"), None);
    }
}
