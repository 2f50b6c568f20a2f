//! Opens files that are read: only regular files, and below a folder only those that are there.
//!
//! A FIFO, a socket or a device is found by its type before it is opened, because opening one may wait, or do something. What was opened
//! is looked at again, because a name may mean another file by then.

use std::fs::{File, FileType, Metadata};
use std::io;
use std::path::{Component, Path};

use crate::error::{Error, Kind, Result};

/// Which files a location in a model may mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Links {
    /// Files in the folder of the model and below it; symbolic links may not lead out of it.
    #[default]
    Stay,
    /// Symbolic links are followed wherever they lead.
    Follow,
}

impl Links {
    /// Whether the user asked to follow them.
    pub fn of(follow: bool) -> Links {
        if follow { Links::Follow } else { Links::Stay }
    }
}

/// Opens a regular file.
///
/// # Errors
/// A file that cannot be opened, or one that is a folder, a FIFO, a socket or a device.
pub fn open_regular(path: &Path) -> Result<File> {
    refuse_device_name(path)?;
    refuse_special(&std::fs::metadata(path).map_err(io_error)?)?;
    let file = without_waiting().open(path).map_err(io_error)?;
    refuse_special(&file.metadata().map_err(io_error)?)?;
    Ok(file)
}

/// Opens a regular file that a model names by a relative path.
///
/// # Errors
/// Those of [`open_regular`], and a location outside of the folder, by its name or by a symbolic link.
pub fn open_below(folder: &Path, location: &str, links: Links) -> Result<File> {
    let relative = Path::new(location);
    if location.is_empty() || !relative.components().all(is_inside) || (cfg!(windows) && location.contains(':')) {
        return Err(Error::input(format!("its external data is outside of the model's folder: `{location}`")));
    }
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if links == Links::Follow {
        return open_regular(&folder.join(relative));
    }
    refuse_device_name(relative)?;
    let base = folder.canonicalize().map_err(io_error)?;
    let real = base.join(relative).canonicalize().map_err(io_error)?;
    let Ok(below) = real.strip_prefix(&base) else { return Err(leads_out(location, &real)) };
    refuse_special(&real.symlink_metadata().map_err(io_error)?)?;
    let file = open_without_links(&base, below).map_err(io_error)?;
    refuse_special(&file.metadata().map_err(io_error)?)?;
    Ok(file)
}

fn is_inside(part: Component<'_>) -> bool {
    matches!(part, Component::Normal(_) | Component::CurDir)
}

fn leads_out(location: &str, target: &Path) -> Error {
    let target = target.display();
    let message = format!("its external data `{location}` is a symbolic link out of the model's folder, to `{target}`");
    Error::input(message).help(
        "if that is meant, as in a cache of Hugging Face, pass `--follow-links` (`follow_links=True` in Python); `aten2onnx pack --follow-links` \
         writes a model without links",
    )
}

/// Opens a file below a folder by a path without links: a part that has become a link since is an error.
#[cfg(unix)]
fn open_without_links(base: &Path, below: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, open, openat};
    let any = OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mut here = open(base, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    if let Some(parent) = below.parent() {
        for part in parent {
            here = openat(&here, part, any | OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        }
    }
    let name = below.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let flags = any | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(File::from(openat(&here, name, flags, Mode::empty())?))
}

#[cfg(not(unix))]
fn open_without_links(base: &Path, below: &Path) -> io::Result<File> {
    let path = base.join(below);
    let file = without_waiting().open(&path)?;
    // The name may have become that of a link while the file was opened.
    match path.canonicalize()? == path {
        true => Ok(file),
        false => Err(io::Error::other("it has become a symbolic link")),
    }
}

/// Opens for reading; a FIFO that has taken the place of a file does not make this wait.
fn without_waiting() -> std::fs::OpenOptions {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits() as i32);
    }
    options
}

fn refuse_special(found: &Metadata) -> Result<()> {
    if found.is_file() {
        return Ok(());
    }
    if found.is_dir() {
        return Err(Error::new(Kind::Io, "it is a directory, not a file"));
    }
    let what = special(found.file_type());
    Err(Error::new(Kind::Io, format!("it is {what}, not a regular file"))
        .help("copy the bytes to a file; a model alone can also be read from stdin: `-`"))
}

#[cfg(unix)]
fn special(found: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match found {
        _ if found.is_fifo() => "a FIFO (a named pipe)",
        _ if found.is_socket() => "a socket",
        _ if found.is_char_device() || found.is_block_device() => "a device",
        _ => "of an unknown type",
    }
}

#[cfg(not(unix))]
fn special(_: FileType) -> &'static str {
    "of an unknown type"
}

/// Windows opens devices by names in any folder, and says that they are files.
fn refuse_device_name(path: &Path) -> Result<()> {
    let name = path.components().find_map(|part| part.as_os_str().to_str().filter(|name| is_device_name(name)));
    match name {
        Some(name) if cfg!(windows) => Err(Error::new(Kind::Io, format!("`{name}` is the name of a device"))),
        _ => Ok(()),
    }
}

/// Whether Windows takes a name as that of a device: `NUL`, `com1.txt`.
fn is_device_name(name: &str) -> bool {
    let stem = name.split(['.', ':']).next().unwrap_or_default().trim_end().to_ascii_uppercase();
    let numbered = |prefix: &str| stem.strip_prefix(prefix).is_some_and(|rest| rest.chars().count() == 1);
    matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$") || numbered("COM") || numbered("LPT")
}

fn io_error(error: io::Error) -> Error {
    Error::new(Kind::Io, error.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_of_devices_are_known() {
        for name in ["NUL", "nul.onnx", "com1", "LPT9.data", "CON .x", "conin$"] {
            assert!(is_device_name(name), "{name}");
        }
        for name in ["null", "com", "com10", "console", "weights.nul", "model.onnx.data"] {
            assert!(!is_device_name(name), "{name}");
        }
    }

    #[cfg(unix)]
    mod unix {
        use std::fs;
        use std::os::unix::fs::symlink;
        use std::path::PathBuf;
        use std::process::Command;

        use super::*;

        fn made() -> (tempfile::TempDir, PathBuf) {
            let outer = tempfile::tempdir().unwrap();
            let folder = outer.path().join("model");
            fs::create_dir_all(folder.join("sub")).unwrap();
            fs::write(folder.join("w.bin"), "inside").unwrap();
            fs::write(folder.join("sub/w.bin"), "below").unwrap();
            fs::write(outer.path().join("secret"), "secret").unwrap();
            (outer, folder)
        }

        fn refusal(folder: &Path, location: &str, links: Links) -> Error {
            open_below(folder, location, links).unwrap_err()
        }

        #[test]
        fn links_stay_in_the_folder_unless_asked() {
            let (outer, folder) = made();
            symlink("sub/w.bin", folder.join("inner.bin")).unwrap();
            symlink(folder.join("w.bin"), folder.join("absolute.bin")).unwrap();
            symlink("../secret", folder.join("out.bin")).unwrap();
            symlink("out.bin", folder.join("twice.bin")).unwrap();
            symlink("..", folder.join("up")).unwrap();
            for inside in ["w.bin", "./w.bin", "sub/w.bin", "inner.bin", "absolute.bin"] {
                assert!(open_below(&folder, inside, Links::Stay).is_ok(), "{inside}");
            }
            let secret = outer.path().canonicalize().unwrap().join("secret").display().to_string();
            for outside in ["out.bin", "twice.bin", "up/secret"] {
                let error = refusal(&folder, outside, Links::Stay);
                assert!(error.message.contains(&format!("to `{secret}`")), "{error}");
                assert!(error.help.clone().unwrap().contains("--follow-links"));
                assert!(open_below(&folder, outside, Links::Follow).is_ok(), "{outside}");
            }
            for outside in ["../secret", "/etc/passwd", "", "sub/../../secret"] {
                for links in [Links::Stay, Links::Follow] {
                    assert!(refusal(&folder, outside, links).message.contains("outside of the model's folder"));
                }
            }
            // The folder itself may be given by a link.
            symlink(&folder, outer.path().join("linked")).unwrap();
            assert!(open_below(&outer.path().join("linked"), "w.bin", Links::Stay).is_ok());
        }

        #[test]
        fn a_name_that_becomes_a_link_is_refused() {
            let (_outer, folder) = made();
            let base = folder.canonicalize().unwrap();
            symlink("../secret", folder.join("out.bin")).unwrap();
            symlink("..", folder.join("up")).unwrap();
            // As if they had been files when they were looked at.
            assert!(open_without_links(&base, Path::new("out.bin")).is_err());
            assert!(open_without_links(&base, Path::new("up/secret")).is_err());
            assert!(open_without_links(&base, Path::new("sub/w.bin")).is_ok());
        }

        #[test]
        fn what_is_no_file_is_not_opened() {
            let (_outer, folder) = made();
            assert!(Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap().success());
            let _socket = std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
            symlink("/dev/zero", folder.join("zero")).unwrap();
            let cases = [("pipe", "a FIFO"), ("socket", "a socket"), ("zero", "a device"), ("sub", "a directory")];
            for (name, what) in cases {
                let error = refusal(&folder, name, Links::Follow);
                assert!(error.message.contains(what), "{error}");
                let error = open_regular(&folder.join(name)).unwrap_err();
                assert!(error.message.contains(what), "{error}");
            }
            assert!(refusal(&folder, "pipe", Links::Stay).message.contains("a FIFO"));
            assert!(refusal(&folder, "zero", Links::Stay).message.contains("/dev/zero"));
            // One that takes the place of a file between the look and the opening does not make anybody wait.
            let pipe = open_without_links(&folder.canonicalize().unwrap(), Path::new("pipe")).unwrap();
            assert!(refuse_special(&pipe.metadata().unwrap()).is_err());
        }
    }
}
