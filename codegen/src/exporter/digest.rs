//! SHA-256, of files and of folders.

use std::fmt::Write as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

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
    let mut open = vec![folder.to_owned()];
    let mut lines = Vec::new();
    while let Some(next) = open.pop() {
        let failed = |e: std::io::Error| format!("{}: {e}", next.display());
        for entry in std::fs::read_dir(&next).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let kind = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
            if path.is_dir() {
                open.push(path);
            } else if matches!(kind, "opmap" | "txt" | "toml" | "proto") {
                let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
                let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().replace('\\', "/");
                lines.push(format!("{} {name}\n", sha256(&bytes)));
            }
        }
    }
    lines.sort_by(|a, b| a.get(64..).cmp(&b.get(64..)));
    Ok(sha256(lines.concat().as_bytes()))
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
