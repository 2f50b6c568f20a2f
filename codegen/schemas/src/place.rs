//! Where an error in a file of facts is: the line that the parser names, or else that of the word that the message quotes.

/// `opsets.toml:3: unknown field`: what is wrong with a file, with the line if it can be told. `name` is the file as it is shown.
pub fn placed(name: &str, text: &str, error: &str) -> String {
    let (line, message) = match error.strip_prefix("TOML parse error at line ") {
        Some(rest) => (leading_number(rest), message_of_toml(rest)),
        None => {
            match error.strip_prefix("line ").and_then(|rest| Some((leading_number(rest)?, rest.split_once(": ")?.1))) {
                Some((line, message)) => (Some(line), message.to_owned()),
                None => (line_of_quoted(text, error), error.to_owned()),
            }
        }
    };
    match line {
        Some(line) => format!("{name}:{line}: {message}"),
        None => format!("{name}: {message}"),
    }
}

fn leading_number(text: &str) -> Option<usize> {
    text.get(..text.find(|c: char| !c.is_ascii_digit())?)?.parse().ok()
}

/// What is wrong: the lines after those that show the place.
fn message_of_toml(rest: &str) -> String {
    let shown = |line: &&str| line.trim_start().starts_with(|c: char| c == '|' || c.is_ascii_digit());
    let message: Vec<&str> =
        rest.lines().skip(1).skip_while(shown).map(str::trim).filter(|line| !line.is_empty()).collect();
    message.join("; ")
}

/// The first line that has the first word that a message quotes, outside of comments. Values of TOML are in quotes.
fn line_of_quoted(text: &str, error: &str) -> Option<usize> {
    let mut quoted = error.split('`').skip(1).step_by(2).filter(|word| !word.is_empty());
    quoted.find_map(|word| line_of(text, &format!("\"{word}\"")).or_else(|| line_of(text, word)))
}

/// The first line that has a word, outside of comments.
pub fn line_of(text: &str, word: &str) -> Option<usize> {
    let is_part = |c: char| c.is_alphanumeric() || "_:.".contains(c);
    let has = |line: &str| {
        let code = if line.trim_start().starts_with('#') { "" } else { line };
        code.match_indices(word).any(|(at, _)| {
            let before = code.get(..at).unwrap_or_default().chars().next_back();
            let after = code.get(at + word.len()..).unwrap_or_default().chars().next();
            !before.is_some_and(is_part) && !after.is_some_and(is_part)
        })
    };
    text.lines().position(has).map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::placed;

    const TEXT: &str = "# `Relu` here\nx = 1\n\n[operators]\nRelu6 = 1\nRelu = { shape = \"firs\" }\n";

    #[test]
    fn an_error_has_the_line_of_what_it_quotes() {
        assert_eq!(placed("a.toml", TEXT, "`Relu`: no shape `firs`"), "a.toml:6: `Relu`: no shape `firs`");
        assert_eq!(placed("a.toml", TEXT, "`Gone`: no"), "a.toml: `Gone`: no");
        assert_eq!(placed("a.txt", TEXT, "line 12: what"), "a.txt:12: what");
    }

    #[test]
    fn an_error_of_toml_has_its_line() {
        for (text, shown) in [("a = 1\nb = [1,\n", "f.toml:"), ("a = 1\na = 2\n", "f.toml:2: duplicate key")] {
            let error = toml::from_str::<toml::Table>(text).map_err(|e| placed("f.toml", text, &e.to_string()));
            let said = error.err().unwrap_or_default();
            assert!(said.starts_with(shown) && !said.contains('|') && said.split(':').count() >= 3, "{said}");
        }
    }
}
