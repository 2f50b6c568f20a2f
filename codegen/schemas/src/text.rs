//! Quoted strings of the snapshots.

/// The content of `"..."`, which must be the whole text.
pub(super) fn quoted(text: &str) -> Option<String> {
    let (value, rest) = quoted_prefix(text)?;
    rest.is_empty().then_some(value)
}

/// `"a", "b"`
pub(super) fn quoted_list(text: &str) -> Option<Vec<String>> {
    let mut out = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (value, after) = quoted_prefix(rest)?;
        out.push(value);
        if after.is_empty() {
            break;
        }
        rest = after.strip_prefix(", ")?;
    }
    Some(out)
}

/// The quoted string at the start of a text (`"` or `'`, with backslashes), and the rest of the text.
pub(super) fn quoted_prefix(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut value = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((i, c)) = chars.next() {
        match c {
            '\\' => value.push(match chars.next()?.1 {
                'n' => '\n',
                't' => '\t',
                other => other,
            }),
            _ if c == quote => return Some((value, text.get(i + 1..)?)),
            _ => value.push(c),
        }
    }
    None
}
