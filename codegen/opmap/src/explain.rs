//! The pages of the error codes, `errors/EXXXX.md`, which are built into the program.

/// All codes. The page of each must exist.
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
    "E0101",
    "E0102",
    "E0103",
    "E0104",
    "E0105",
    "E0106",
    "E0107",
    "E0108",
    "E0201",
    "E0202",
    "E0203",
    "E0204",
    "E0205",
    "E0301",
    "E0302",
    "E0303",
    "E0304",
    "E0305",
    "E0306",
    "E0307",
    "E0308",
    "E0309",
    "E0310",
    "E0311",
    "E0312",
    "E0313",
    "E0314",
    "E0315",
    "E0316",
    "E0317",
    "E0318",
    "E0401",
    "E0402",
    "E0403",
    "E0404",
    "E0405",
    "E0406",
    "E0407",
    "E0408",
    "E0409",
    "E0410",
    "E0411",
    "E0501",
    "E0502",
    "E0503",
    "E0504",
    "E0505",
    "E0506",
    "E0601",
    "E0602",
    "E0603",
    "E0604",
    "E0701",
    "E0702",
    "E0703",
    "E0704",
    "E0705",
    "E0706",
    "E0707",
    "E0708",
    "E0709",
    "E0710",
    "E0801",
    "E0802",
    "E0803",
    "E0901",
    "E0902",
    "E0903",
    "E0904",
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
