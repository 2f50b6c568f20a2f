//! The names of files on their way: new ones before they are in their places, and earlier ones that went aside. A save that was
//! interrupted leaves such pieces, which the next read or save names.

use std::fs::TryLockError;
use std::path::{Path, PathBuf};

use aten2onnx_core::weights::open_regular;

/// The end of the name of a new file: `.m.onnx.Ab12Cd.onnx.tmp`.
pub const NEW: &str = ".onnx.tmp";
/// The end of the name of an earlier file that went aside.
pub const ASIDE: &str = ".onnx.old";
/// The number of random characters in a name.
pub const RANDOM: usize = 6;

/// The start of the names of pieces of a file.
pub fn prefix(name: &str) -> String {
    format!(".{name}.")
}

/// The pieces of a file that no running save owns, by name.
pub fn left_behind(path: &Path) -> Vec<PathBuf> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let prefix = prefix(name);
    let pieces = entries.filter_map(|entry| {
        let found = entry.ok()?.file_name().into_string().ok()?;
        is_piece(&found, &prefix).then(|| path.with_file_name(found))
    });
    let mut pieces: Vec<PathBuf> = pieces.filter(|piece| !is_in_use(piece)).collect();
    pieces.sort();
    pieces
}

/// What to do with the pieces of a model and its data; None if there are none.
pub fn advice(pieces: &[PathBuf]) -> Option<String> {
    let named = |end: &str| {
        let names = pieces.iter().filter_map(|piece| piece.file_name()?.to_str()).filter(|name| name.ends_with(end));
        names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    let (new, old) = (named(NEW), named(ASIDE));
    Some(match (new.is_empty(), old.is_empty()) {
        (true, true) => return None,
        (false, true) => format!("a save was interrupted and left {new}, which may be deleted"),
        (_, false) => {
            let new = if new.is_empty() { new } else { format!(", and the new ones {new}, which may be incomplete") };
            format!(
                "a save was interrupted between the old files and the new ones; it left the old ones as {old}{new}: save again and delete \
                 them, or rename all old ones of that save back"
            )
        }
    })
}

fn is_piece(name: &str, prefix: &str) -> bool {
    let middle = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(NEW).or(rest.strip_suffix(ASIDE)));
    middle.is_some_and(|middle| middle.len() == RANDOM && middle.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Whether a save is writing the file: it holds a lock.
fn is_in_use(piece: &Path) -> bool {
    let locked = open_regular(piece).map(|file| file.try_lock_shared());
    matches!(locked, Ok(Err(TryLockError::WouldBlock)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_other_files_are_not_taken_for_those_of_a_model() {
        assert!(is_piece(".m.onnx.Ab12Cd.onnx.tmp", ".m.onnx."));
        assert!(is_piece(".m.onnx.Ab12Cd.onnx.old", ".m.onnx."));
        for other in [
            ".m.onnx.data.Ab12Cd.onnx.tmp",
            ".m.onnx.Ab12Cd.tmp",
            "m.onnx",
            ".m.onnx..onnx.old",
            ".n.onnx.Ab12Cd.onnx.tmp",
        ] {
            assert!(!is_piece(other, ".m.onnx."), "{other}");
        }
    }
}
