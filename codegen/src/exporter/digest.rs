//! SHA-256, of files and of folders.

use std::fmt::Write as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::files_below;

/// The SHA-256 of bytes, in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The digest of the rules, schemas and facts in a folder, with their names.
///
/// # Errors
/// What cannot be read.
pub fn folder_digest(folder: &Path) -> Result<String, String> {
    let mut lines = String::new();
    for (name, path) in files_below(folder, &[])? {
        let kind = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        if matches!(kind, "opmap" | "txt" | "toml" | "proto") {
            let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let _ = writeln!(lines, "{} {name}", sha256(&bytes));
        }
    }
    Ok(sha256(lines.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::sha256;

    #[test]
    fn digests_are_those_of_the_standard() {
        assert_eq!(sha256(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
