//! What each error code means: a page for each, `errors/EXXXX.md`, built into the program.

/// One line for each code; the page of the same name must exist.
macro_rules! pages {
    ($($code:literal,)*) => {
        const CODES: &[&str] = &[$($code,)*];
        const PAGES: &[&str] = &[$(include_str!(concat!("errors/", $code, ".md")),)*];
    };
}

pages! {
    "E0001",
    "E0002",
    "E0003",
    "E0004",
    "E0005",
    "E0006",
}

/// The page of an error code, in Markdown.
pub fn explain(code: &str) -> Option<&'static str> {
    let at = CODES.iter().position(|known| known.eq_ignore_ascii_case(code))?;
    PAGES.get(at).copied()
}

/// All error codes, in order.
pub fn codes() -> &'static [&'static str] {
    CODES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `# E0001: title`, what it means, a failing example, `## What to do`.
    #[test]
    fn pages_have_the_layout() {
        for code in codes() {
            let page = explain(code).unwrap_or("");
            let parts = [&format!("# {code}: "), "\n```opmap\n", "\n## What to do\n"];
            let places: Vec<Option<usize>> = parts.iter().map(|part| page.find(*part)).collect();
            assert!(places.iter().all(Option::is_some), "{code}: {places:?}");
            assert!(places.is_sorted(), "{code}: its parts are out of order");
        }
    }

    #[test]
    fn codes_ascend() {
        assert!(codes().is_sorted_by(|a, b| a < b));
    }
}
