//! Writes a workspace, or what changes in one that is there. Nothing is written before everything is known to fit.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::manifest::{self, Manifest};
use super::{Files, MANIFEST, Owner, Request, sha256};

/// What was done.
#[derive(Debug, Default)]
pub struct Report {
    /// A line for each file that is new, changed, removed or kept.
    pub lines: Vec<String>,
    /// How many files there are.
    pub files: usize,
    /// Whether there was no workspace before.
    pub is_new: bool,
}

/// Writes the files of a workspace into a folder.
///
/// # Errors
/// The folder holds something else, a generated file was changed by hand, or something cannot be read or written.
pub fn write(request: &Request<'_>, files: &Files, folder: &Path) -> Result<Report, String> {
    let text = manifest::text(request, files);
    let is_empty = std::fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none());
    if is_empty {
        return create(files, &text, folder);
    }
    let path = folder.join(MANIFEST);
    let Ok(old) = std::fs::read_to_string(&path) else {
        let text = format!("{} is not empty, and holds no {MANIFEST}: it is no exporter", folder.display());
        return Err(text + "; name a new folder");
    };
    let old = Manifest::parse(&old).map_err(|e| format!("{}: {e}", path.display()))?;
    if old.name != request.name {
        let text = format!("{} holds the exporter `{}`, not `{}`", folder.display(), old.name, request.name);
        return Err(text + ": name a new folder, or the old name");
    }
    update(&old, files, &text, folder)
}

/// Fills a folder beside it, which then gets its name.
fn create(files: &Files, manifest: &str, folder: &Path) -> Result<Report, String> {
    let failed = |e: std::io::Error| format!("{}: {e}", folder.display());
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent).map_err(failed)?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let partial = parent.join(format!(".{name}.{}.partial", std::process::id()));
    let done = fill(&partial, files, manifest).and_then(|()| {
        // An empty folder may be there.
        let _ = std::fs::remove_dir(folder);
        std::fs::rename(&partial, folder).map_err(failed)
    });
    if let Err(reason) = done {
        let _ = std::fs::remove_dir_all(&partial);
        return Err(reason);
    }
    Ok(Report { lines: Vec::new(), files: files.len() + 1, is_new: true })
}

fn fill(folder: &Path, files: &Files, manifest: &str) -> Result<(), String> {
    for (path, (_, bytes)) in files {
        put(&folder.join(path), bytes)?;
    }
    put(&folder.join(MANIFEST), manifest.as_bytes())
}

/// Writes a file as a whole.
fn put(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("{}: {e}", path.display());
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    std::fs::write(&partial, bytes).map_err(failed)?;
    std::fs::rename(&partial, path).map_err(failed)
}

/// The changes of a workspace.
fn update(old: &Manifest, files: &Files, manifest: &str, folder: &Path) -> Result<Report, String> {
    let mut report = Report { files: files.len() + 1, ..Report::default() };
    let mut writes: BTreeMap<&str, &[u8]> = BTreeMap::new();
    let mut by_hand = Vec::new();
    for (path, (owner, bytes)) in files {
        let present = std::fs::read(folder.join(path)).ok();
        let new = sha256(bytes);
        let before = if *owner == Owner::Generator { old.generated.get(path) } else { old.beginning.get(path) };
        let is_ours = |present: &Vec<u8>| {
            let digest = sha256(present);
            before == Some(&digest) || digest == new
        };
        match (&present, owner) {
            (Some(present), _) if present == bytes => {}
            (Some(present), Owner::Generator) if !is_ours(present) => by_hand.push(path.as_str()),
            (Some(present), Owner::Vendor) if !is_ours(present) => {
                if before != Some(&new) {
                    report.lines.push(format!(
                        "kept     {path}: you have changed it, and this version would write another one"
                    ));
                }
            }
            (None, Owner::Vendor) if before.is_some() => {
                report.lines.push(format!("kept     {path}: you have removed it"))
            }
            (Some(present), _) => {
                report.lines.push(format!("changed  {path}: {}", difference(present, bytes)));
                writes.insert(path, bytes);
            }
            (None, _) => {
                report.lines.push(format!("new      {path}"));
                writes.insert(path, bytes);
            }
        }
    }
    if !by_hand.is_empty() {
        let text = format!("these generated files were changed by hand:\n    {}\n", by_hand.join("\n    "));
        return Err(
            text + "move the changes into mapping files (`--own-mappings`), remove the files, and run this again"
        );
    }
    let gone: Vec<&String> = old.generated.keys().filter(|path| !files.contains_key(*path)).collect();
    for (path, bytes) in writes {
        put(&folder.join(path), bytes)?;
    }
    for path in gone {
        // It may be gone already.
        let _ = std::fs::remove_file(folder.join(path));
        report.lines.push(format!("removed  {path}"));
    }
    put(&folder.join(MANIFEST), manifest.as_bytes())?;
    report.lines.sort();
    Ok(report)
}

/// How many lines of a text are new, and how many are gone.
fn difference(old: &[u8], new: &[u8]) -> String {
    let counts = |text: &[u8]| {
        let mut counts: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        text.split(|byte| *byte == b'\n').for_each(|line| *counts.entry(line.to_vec()).or_default() += 1);
        counts
    };
    let (old, new) = (counts(old), counts(new));
    let more = |a: &BTreeMap<Vec<u8>, usize>, b: &BTreeMap<Vec<u8>, usize>| -> usize {
        a.iter().map(|(line, count)| count.saturating_sub(b.get(line).copied().unwrap_or(0))).sum()
    };
    format!("{} lines added, {} removed", more(&new, &old), more(&old, &new))
}
