//! Puts complete files in their places, so that a model and its data are never a wrong pair.
//!
//! Two files cannot be replaced at once. So the old models go aside first and their data after them, then the new data takes its place,
//! and the new models come last: whenever this ends, a model that is there has its own data. A failure puts the old files back in the
//! reverse order. A crash leaves no model, and pieces that the next run names ([`crate::pieces`]).

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::stage::{Complete, Staged, interrupted, io_failed, owned};
use crate::pieces;
use aten2onnx_core::error::{Error, Result};

/// How often, and how long in between, a lock of the folder is tried.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// What is done with files, for tests that let a step fail.
pub(super) trait Disk {
    /// Gives a file another name, replacing what has it.
    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&mut self, path: &Path) -> io::Result<()>;
}

/// The file system.
struct Real;

impl Disk for Real {
    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

/// Puts models and the data that they refer to in their places.
///
/// # Errors
/// A step that fails; the earlier files are back then, or the message names where they are.
pub fn commit(models: Vec<Staged>, data: Option<Staged>) -> Result<()> {
    commit_on(&mut Real, models, data)
}

pub(super) fn commit_on(disk: &mut dyn Disk, models: Vec<Staged>, data: Option<Staged>) -> Result<()> {
    let Some(data) = data else { return models.into_iter().try_for_each(Staged::commit) };
    // Their locks tell others that they are no leftovers.
    let (_open, files): (Vec<File>, Vec<Complete>) = models.into_iter().chain([data]).map(Staged::complete).unzip();
    all_on(disk, files)
}

/// Puts files in their places, all or none: a file goes aside before those after it, and takes its place after them.
///
/// # Errors
/// A step that fails; the earlier files are back then, or the message names where they are.
pub(super) fn all(files: Vec<Complete>) -> Result<()> {
    all_on(&mut Real, files)
}

fn all_on(disk: &mut dyn Disk, files: Vec<Complete>) -> Result<()> {
    let _folder = files.last().and_then(|file| locked(file.destination()));
    // The guard goes before the files, which are taken from the list on drop.
    let done = {
        let owned = owned();
        match files.iter().all(|file| owned.contains(&file.temporary().to_path_buf())) {
            true => Replacement { disk, done: Vec::new() }.run(&files),
            false => Err(interrupted()),
        }
    };
    drop(files);
    done
}

/// Keeps other processes from putting files into the same folder meanwhile. Where folders cannot be locked, or somebody else keeps the
/// lock for long, it goes on without.
fn locked(path: &Path) -> Option<File> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = File::open(folder).ok()?;
    for _ in 0..TRIES {
        match folder.try_lock() {
            Ok(()) => return Some(folder),
            Err(fs::TryLockError::WouldBlock) => thread::sleep(PAUSE),
            Err(fs::TryLockError::Error(_)) => return None,
        }
    }
    None
}

/// A step that was done, and how it is undone.
enum Step {
    /// A file went aside.
    Aside { place: PathBuf, aside: PathBuf },
    /// A new file is in its place.
    Placed(PathBuf),
}

struct Replacement<'a> {
    disk: &'a mut dyn Disk,
    done: Vec<Step>,
}

impl Replacement<'_> {
    fn run(mut self, files: &[Complete]) -> Result<()> {
        match self.forward(files) {
            Ok(()) => {
                self.remove_aside();
                Ok(())
            }
            Err(error) => Err(self.back(error)),
        }
    }

    fn forward(&mut self, files: &[Complete]) -> Result<()> {
        files.iter().try_for_each(|file| self.set_aside(file))?;
        files.iter().rev().try_for_each(|file| self.place(file))
    }

    /// Moves the earlier file out of the way.
    fn set_aside(&mut self, file: &Complete) -> Result<()> {
        let place = file.destination();
        if place.symlink_metadata().is_err() {
            return Ok(());
        }
        let aside = aside_of(file.temporary());
        self.disk.rename(place, &aside).map_err(|error| io_failed(place, &error))?;
        self.done.push(Step::Aside { place: place.to_path_buf(), aside });
        Ok(())
    }

    fn place(&mut self, file: &Complete) -> Result<()> {
        let place = file.destination();
        self.disk.rename(file.temporary(), place).map_err(|error| io_failed(place, &error))?;
        self.done.push(Step::Placed(place.to_path_buf()));
        Ok(())
    }

    /// Undoes what was done, in the reverse order. Where that fails it stops, because a model would get the wrong data.
    fn back(mut self, error: Error) -> Error {
        while let Some(step) = self.done.pop() {
            let undone = match &step {
                Step::Placed(place) => self.disk.remove(place),
                Step::Aside { place, aside } => self.disk.rename(aside, place),
            };
            if let Err(reason) = undone {
                self.done.push(step);
                return self.stuck(error, &reason);
            }
        }
        error
    }

    /// The earlier files could not be put back.
    fn stuck(&self, error: Error, reason: &io::Error) -> Error {
        let aside = self.done.iter().filter_map(|step| match step {
            Step::Aside { place, aside } => Some(format!("`{}` as `{}`", place.display(), aside.display())),
            Step::Placed(_) => None,
        });
        let aside: Vec<String> = aside.collect();
        let message = format!(
            "{}; the earlier files could not be put back ({reason}) and are still there: {}",
            error.message,
            aside.join(", ")
        );
        error.with_message(message).help("save again, or rename them all to what they were")
    }

    /// Removes the earlier files. One that cannot be removed is named by the next run.
    fn remove_aside(&mut self) {
        for step in &self.done {
            if let Step::Aside { aside, .. } = step {
                let _ = self.disk.remove(aside);
            }
        }
    }
}

/// Where the earlier file goes: beside the new one, which is in the same folder as its place.
fn aside_of(temporary: &Path) -> PathBuf {
    let name = temporary.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(pieces::NEW).unwrap_or(&name);
    temporary.with_file_name(format!("{name}{}", pieces::ASIDE))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write;

    use super::*;

    /// A file system on which steps fail from one on, one alone or all after it, or are not done because the process was killed.
    struct Faulty {
        step: usize,
        fails: Fails,
    }

    #[derive(Clone, Copy, PartialEq)]
    enum Fails {
        Once(usize),
        From(usize),
    }

    impl Faulty {
        fn step(&mut self) -> io::Result<()> {
            self.step += 1;
            match self.fails {
                Fails::Once(step) if step == self.step => Err(io::ErrorKind::PermissionDenied.into()),
                Fails::From(step) if step <= self.step => Err(io::ErrorKind::StorageFull.into()),
                _ => Ok(()),
            }
        }
    }

    impl Disk for Faulty {
        fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
            self.step().and_then(|()| Real.rename(from, to))
        }

        fn remove(&mut self, path: &Path) -> io::Result<()> {
            self.step().and_then(|()| Real.remove(path))
        }
    }

    /// Two models and their data.
    const NAMES: [&str; 3] = ["a.onnx", "b.onnx", "w.data"];

    fn staged(folder: &Path, name: &str, text: &str) -> Staged {
        let create = if name.ends_with(".data") { Staged::of_data } else { Staged::create };
        let mut staged = create(&folder.join(name)).unwrap();
        staged.file().write_all(text.as_bytes()).unwrap();
        staged
    }

    fn save(folder: &Path, text: &str, fails: Fails) -> (Result<()>, usize) {
        let [a, b, data] = NAMES.map(|name| staged(folder, name, text));
        let mut disk = Faulty { step: 0, fails };
        (commit_on(&mut disk, vec![a, b], Some(data)), disk.step)
    }

    fn texts(folder: &Path) -> [Option<String>; 3] {
        NAMES.map(|name| fs::read_to_string(folder.join(name)).ok())
    }

    fn count(folder: &Path) -> usize {
        folder.read_dir().unwrap().count()
    }

    fn earlier(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        names.iter().for_each(|name| fs::write(folder.path().join(name), "old").unwrap());
        folder
    }

    /// What may have been there before: nothing, all, some.
    const BEFORE: [&[&str]; 6] =
        [&[], &NAMES, &["a.onnx", "w.data"], &["b.onnx", "w.data"], &["w.data"], &["a.onnx", "b.onnx"]];

    #[test]
    fn all_files_are_replaced_and_nothing_else_stays() {
        for before in BEFORE {
            let folder = earlier(before);
            save(folder.path(), "new", Fails::Once(0)).0.unwrap();
            assert_eq!(texts(folder.path()), NAMES.map(|_| Some("new".to_owned())));
            assert_eq!(count(folder.path()), 3);
        }
    }

    #[test]
    fn a_step_that_fails_puts_the_earlier_files_back() {
        for before in BEFORE {
            let wanted = texts(earlier(before).path());
            let folder = earlier(before);
            let (_, steps) = save(folder.path(), "new", Fails::Once(0));
            // The last steps remove what went aside, for which nothing is undone.
            for step in 1..=steps - before.len() {
                let folder = earlier(before);
                let (done, _) = save(folder.path(), "new", Fails::Once(step));
                assert!(done.unwrap_err().message.starts_with("cannot write"), "{before:?} {step}");
                assert_eq!(texts(folder.path()), wanted, "{before:?} {step}");
                assert_eq!(count(folder.path()), before.len(), "{before:?} {step}");
            }
        }
    }

    /// As after a crash: nothing is undone either.
    #[test]
    fn no_step_leaves_a_model_with_the_wrong_data() {
        for before in BEFORE {
            let folder = earlier(before);
            let (_, steps) = save(folder.path(), "new", Fails::Once(0));
            for step in 1..=steps {
                let folder = earlier(before);
                let (done, _) = save(folder.path(), "new", Fails::From(step));
                let [a, b, data] = texts(folder.path());
                for model in [&a, &b].into_iter().flatten() {
                    let pair = data.as_ref().is_none_or(|data| data == model);
                    assert!(pair, "{before:?} {step}: {a:?} {b:?} {data:?}");
                }
                // What is not in its place is aside and named.
                let aside: Vec<PathBuf> =
                    NAMES.iter().flat_map(|name| pieces::left_behind(&folder.path().join(name))).collect();
                let there = |text: &str| aside.iter().filter(|path| fs::read_to_string(path).unwrap() == text).count();
                let in_place = [&a, &b, &data].into_iter().flatten().filter(|text| *text == "old").count();
                if done.is_err() {
                    assert_eq!(in_place + there("old"), before.len(), "{before:?} {step}");
                    assert_eq!(there("old") > 0, pieces::advice(&aside).is_some_and(|text| text.contains("old ones")));
                }
                if let Err(error) = done
                    && there("old") > 0
                {
                    assert!(error.message.contains(pieces::ASIDE), "{error}");
                }
            }
        }
    }

    #[test]
    fn a_link_in_the_place_of_data_is_replaced_and_not_followed() {
        let folder = earlier(&["a.onnx", "elsewhere"]);
        #[cfg(unix)]
        std::os::unix::fs::symlink("elsewhere", folder.path().join("w.data")).unwrap();
        save(folder.path(), "new", Fails::Once(0)).0.unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("elsewhere")).unwrap(), "old");
        assert!(folder.path().join("w.data").symlink_metadata().unwrap().is_file());
    }

    #[test]
    fn pieces_of_a_save_that_runs_are_not_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.onnx");
        let running = staged(folder.path(), "a.onnx", "new");
        assert!(pieces::left_behind(&path).is_empty());
        let left = folder.path().join(".a.onnx.Ab12Cd.onnx.tmp");
        fs::write(&left, "").unwrap();
        assert_eq!(pieces::left_behind(&path), [left]);
        drop(running);
    }
}
