//! Waits for a change of files, for commands that run again when a file is saved.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

/// The files are looked at so often: a folder of rules has some hundred.
const PAUSE: Duration = Duration::from_millis(100);

/// Whether Ctrl-C was pressed since the first watch began.
static IS_STOPPED: AtomicBool = AtomicBool::new(false);

/// What a file was like: when it was written, and its size.
type Stamp = (Option<SystemTime>, u64);

/// Files of rules and facts, as they were.
pub(super) struct Watch {
    roots: Vec<PathBuf>,
    seen: BTreeMap<PathBuf, Stamp>,
}

impl Watch {
    /// Of these files, and of the rules and facts in these folders. From now on Ctrl-C ends the watch, and not the process.
    pub(super) fn new(roots: Vec<PathBuf>) -> Watch {
        // Where there is no handler, Ctrl-C ends the process.
        let _ = ctrlc::set_handler(|| IS_STOPPED.store(true, Ordering::Relaxed));
        let seen = stamps(&roots);
        Watch { roots, seen }
    }

    /// Waits until files were written, added or removed, and until no more are. Returns them; None after Ctrl-C.
    pub(super) fn changed(&mut self) -> Option<Vec<PathBuf>> {
        let mut changed: Vec<PathBuf> = Vec::new();
        while !is_stopped() {
            let now = stamps(&self.roots);
            if now == self.seen {
                if !changed.is_empty() {
                    return Some(changed);
                }
                sleep(PAUSE);
                continue;
            }
            changed.extend(differing(&self.seen, &now));
            self.seen = now;
            sleep(PAUSE);
        }
        None
    }
}

/// Whether Ctrl-C was pressed.
pub(super) fn is_stopped() -> bool {
    IS_STOPPED.load(Ordering::Relaxed)
}

/// The files that are not the same in both.
fn differing(before: &BTreeMap<PathBuf, Stamp>, now: &BTreeMap<PathBuf, Stamp>) -> Vec<PathBuf> {
    let gone = before.keys().filter(|path| !now.contains_key(*path));
    let written = now.iter().filter(|(path, stamp)| before.get(*path) != Some(stamp)).map(|(path, _)| path);
    gone.chain(written).cloned().collect()
}

fn stamps(roots: &[PathBuf]) -> BTreeMap<PathBuf, Stamp> {
    let mut found = BTreeMap::new();
    for root in roots {
        note_stamps(root, true, &mut found);
    }
    found
}

/// Notes a file, or those in a folder. A file that is named is noted with any extension; what cannot be read counts as gone.
fn note_stamps(path: &Path, is_named: bool, found: &mut BTreeMap<PathBuf, Stamp>) {
    let Ok(about) = std::fs::metadata(path) else { return };
    if about.is_dir() {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.for_each(|entry| note_stamps(&entry.path(), false, found));
    } else if is_named || ["opmap", "toml"].map(OsStr::new).map(Some).contains(&path.extension()) {
        found.insert(path.to_owned(), (about.modified().ok(), about.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::Watch;

    #[test]
    fn changes_are_of_rules_and_facts() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("a.opmap"), "1")?;
        std::fs::create_dir(path("inner"))?;
        let mut watch = Watch::new(vec![folder.path().to_owned()]);
        std::fs::write(path("notes.txt"), "no rule")?;
        std::fs::write(path("a.opmap"), "22")?;
        assert_eq!(watch.changed(), Some(vec![path("a.opmap")]));
        std::fs::write(path("inner/b.toml"), "")?;
        assert_eq!(watch.changed(), Some(vec![path("inner/b.toml")]));
        std::fs::remove_file(path("a.opmap"))?;
        assert_eq!(watch.changed(), Some(vec![path("a.opmap")]));
        Ok(())
    }
}
