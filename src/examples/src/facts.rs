//! Which differences from PyTorch are accepted: `differences.toml`, as it is in the checkout whose rules are read, else as it was when the program
//! was built. So a tolerance that is changed has its effect without a build.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use aten2onnx_core::error::{Error, Kind, Result};
use aten2onnx_schemas::place::placed;
use serde::Deserialize;

/// The path of the table in a checkout.
const DIFFERENCES: &str = "src/examples/src/differences.toml";
/// The name of its file.
pub const DIFFERENCES_FILE: &str = "differences.toml";
const BUILT: &str = include_str!("differences.toml");

/// The words of `when` and `accept`, which differences.py explains. A test compares both.
const WHEN: [&str; 18] = [
    "bytes",
    "complex",
    "constant",
    "empty",
    "falling",
    "half",
    "indefinite",
    "infinite",
    "infinite matrix",
    "integers",
    "kept",
    "large",
    "nan",
    "narrow",
    "near",
    "no products",
    "singular",
    "unsorted",
];
const ACCEPT: [&str; 15] = [
    "any order",
    "as halves",
    "bags before",
    "equals",
    "images",
    "lines",
    "moved",
    "not finite",
    "other than nan",
    "rounding",
    "touched",
    "touched floats",
    "uncertain",
    "within",
    "written paths",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    difference: Vec<Difference>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct Difference {
    id: String,
    title: String,
    operators: Option<Vec<String>>,
    #[serde(default)]
    when: Vec<String>,
    accept: String,
    why: String,
}

/// The file of the table of accepted differences in the checkout in which `mappings` lies, if it is there.
pub fn differences_file(mappings: &Path) -> Option<PathBuf> {
    let file = checkout(mappings).join(DIFFERENCES);
    file.exists().then_some(file)
}

/// The folder in which the folder of the rules lies.
fn checkout(mappings: &Path) -> PathBuf {
    mappings.parent().map_or_else(|| mappings.join(".."), Path::to_owned)
}

/// The text of the table of accepted differences. `mappings` is the folder of the rules, if they are read from one.
///
/// # Errors
/// The file and the line of what is wrong in the table of a checkout.
pub fn differences(mappings: Option<&Path>) -> Result<Cow<'static, str>> {
    checkout_text(mappings, DIFFERENCES, BUILT, &|text| {
        let table: Table = toml::from_str(text).map_err(|error| error.to_string())?;
        table.difference.iter().enumerate().try_for_each(|(at, entry)| {
            let is_new = table.difference.iter().take(at).all(|other| other.id != entry.id);
            if is_new { entry.check() } else { Err(format!("two entries have the id `{}`", entry.id)) }
        })
    })
}

impl Difference {
    fn check(&self) -> Result<(), String> {
        if let Some(unknown) = self.when.iter().find(|word| !WHEN.contains(&word.as_str())) {
            return Err(format!("`{unknown}` is no condition of `{}`; there are {}", self.id, WHEN.join(", ")));
        }
        let (accept, number) = match self.accept.strip_prefix("within ") {
            Some(number) => ("within", number),
            None => (self.accept.as_str(), "0"),
        };
        let is_number = number.parse::<f64>().is_ok_and(|number| number.is_finite() && number >= 0.0);
        if !ACCEPT.contains(&accept) || self.accept == "within" || !is_number {
            let all = ACCEPT.map(|word| if word == "within" { "within N" } else { word }).join(", ");
            return Err(format!("`{}` is nothing that `{}` can accept; there are {all}", self.accept, self.id));
        }
        Ok(())
    }
}

/// The text of a file of the checkout in which `mappings` lies, if it is there, and else that of the build. `check` says what is wrong with it.
///
/// # Errors
/// The file and the line of what is wrong.
pub fn checkout_text(
    mappings: Option<&Path>,
    file: &str,
    built: &'static str,
    check: &dyn Fn(&str) -> Result<(), String>,
) -> Result<Cow<'static, str>> {
    let Some(path) = mappings.map(|folder| checkout(folder).join(file)) else {
        return Ok(Cow::Borrowed(built));
    };
    let shown = path.display().to_string();
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Cow::Borrowed(built)),
        Err(error) => return Err(Error::new(Kind::Io, error.to_string()).at(shown)),
    };
    match check(&text) {
        Ok(()) => Ok(Cow::Owned(text)),
        Err(what) => Err(Error::input(placed(&shown, &text, &what))),
    }
}

#[cfg(test)]
mod tests {
    use super::{ACCEPT, BUILT, Path, WHEN, differences};

    const DIFFERENCES_PY: &str = include_str!("differences.py");

    /// The words before the colons of a table of differences.py.
    fn keys(table: &str) -> Vec<&'static str> {
        let text = DIFFERENCES_PY.split_once(&format!("\n{table} = {{\n")).map_or("", |(_, rest)| rest);
        let text = text.split("\n}\n").next().unwrap_or_default();
        let mut keys: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("    \"")?.split_once("\":").map(|(word, _)| word))
            .collect();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn the_words_are_those_that_python_explains() {
        assert_eq!(keys("WHEN"), WHEN);
        assert_eq!(keys("ACCEPT"), ACCEPT);
    }

    #[test]
    fn the_table_of_a_checkout_is_read_and_its_errors_have_lines() -> std::io::Result<()> {
        let root = tempfile::tempdir()?;
        let mappings = root.path().join("mappings");
        let read = || differences(Some(&mappings)).map_err(|error| error.to_string());
        assert_eq!(read().as_deref(), Ok(BUILT), "without a file");
        std::fs::create_dir_all(root.path().join("src/examples/src"))?;
        let file = root.path().join("src/examples/src/differences.toml");
        std::fs::write(&file, BUILT.replace("accept = \"moved\"", "accept = \"lines\""))?;
        assert!(read().is_ok_and(|text| text != BUILT));
        let wrong = [
            ("id = \"unsorted\"", "id = \"equal-elements\"", "two entries have the id `equal-elements`"),
            ("accept = \"any order\"", "accept = \"anything\"", "`anything` is nothing that `unsorted` can accept"),
            ("when = [\"unsorted\"]", "when = [\"sorted\"]", "`sorted` is no condition of `unsorted`"),
            ("accept = \"any order\"", "accept = within 3", "differences.toml:"),
            ("accept = \"any order\"", "accept = \"within x\"", "`within x` is nothing"),
            ("accept = \"any order\"", "accepts = \"any order\"", "unknown field `accepts`"),
        ];
        for (old, new, message) in wrong {
            let text = BUILT.replacen(old, new, 1);
            std::fs::write(&file, &text)?;
            let said = read().err().unwrap_or_default();
            let line = text.lines().position(|line| line.contains(new)).map_or(0, |at| at + 1);
            let place = if message.contains("two entries") {
                "differences.toml:".to_owned()
            } else {
                format!("differences.toml:{line}: ")
            };
            assert!(said.contains(message) && said.contains(&place), "{line}: {said}");
        }
        assert_eq!(differences(Some(Path::new("no/such/folder"))).map_err(|e| e.to_string()).as_deref(), Ok(BUILT));
        Ok(())
    }
}
