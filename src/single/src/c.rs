//! The functions behind the C interface of an exporter for one opset. The generated crate gives them its names; its header tells what a
//! caller has to do.
//!
//! A panic never leaves: it is an internal error. Every function takes null pointers, and says so.

use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::ptr;

use aten2onnx_core::error::{Error, Kind, Result};

use crate::model::{Exporter, Model};

/// Wrong usage, as on the command line.
const USAGE: c_int = 2;

/// Reads a model.
///
/// # Safety
/// `path` is null or a C string; `model` and `error` are null or writable.
pub unsafe fn open(exporter: &Exporter, path: *const c_char, model: *mut *mut Model, error: *mut *mut c_char) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { clear(model) };
    // SAFETY: as the caller promises.
    let path = unsafe { path_of(path) };
    let opened = || match (path, model.is_null()) {
        (None, _) => Err(missing_argument("path")),
        (_, true) => Err(missing_argument("model")),
        (Some(path), false) => Ok(exporter.open(&path)?),
    };
    let done = guarded(opened).map(|opened| {
        // SAFETY: it is not null, so it is writable.
        unsafe { model.write(Box::into_raw(Box::new(opened))) };
    });
    // SAFETY: as the caller promises.
    unsafe { finish(done, error) }
}

/// What the exporter lacks for a model: a text with a line for each operator, or null.
///
/// # Safety
/// `model` is null or of [`open`]; `text` and `error` are null or writable.
pub unsafe fn missing(model: *const Model, text: *mut *mut c_char, error: *mut *mut c_char) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { clear(text) };
    // SAFETY: as the caller promises.
    let model = unsafe { model.as_ref() };
    let asked = || match (model, text.is_null()) {
        (None, _) => Err(missing_argument("model")),
        (_, true) => Err(missing_argument("text")),
        (Some(model), false) => Ok(model.missing()?),
    };
    let done = guarded(asked).map(|lines| {
        if !lines.is_empty() {
            // SAFETY: it is not null, so it is writable.
            unsafe { text.write(c_text(&lines.join("\n"))) };
        }
    });
    // SAFETY: as the caller promises.
    unsafe { finish(done, error) }
}

/// Writes a model.
///
/// # Safety
/// `model` is null or of [`open`]; `path` is null or a C string; `error` is null or writable.
pub unsafe fn export(model: *const Model, path: *const c_char, error: *mut *mut c_char) -> c_int {
    // SAFETY: as the caller promises.
    let (model, path) = unsafe { (model.as_ref(), path_of(path)) };
    let exported = || match (model, path) {
        (None, _) => Err(missing_argument("model")),
        (_, None) => Err(missing_argument("path")),
        (Some(model), Some(path)) => Ok(model.export(&path)?),
    };
    let done = guarded(exported).map(|_| ());
    // SAFETY: as the caller promises.
    unsafe { finish(done, error) }
}

/// Frees a model.
///
/// # Safety
/// `model` is null or of [`open`], and is not used afterwards.
pub unsafe fn close(model: *mut Model) {
    if !model.is_null() {
        // SAFETY: `open` made it of a box.
        drop(unsafe { Box::from_raw(model) });
    }
}

/// Frees a text.
///
/// # Safety
/// `text` is null or of one of these functions, and is not used afterwards.
pub unsafe fn free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: `c_text` made it of a `CString`.
        drop(unsafe { CString::from_raw(text) });
    }
}

/// Why a function failed, with its code.
struct Failure(c_int, String);

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let help = error.help.as_ref().map(|help| format!("\nhelp: {help}")).unwrap_or_default();
        Failure(error.exit_code().into(), format!("{error}{help}"))
    }
}

fn missing_argument(name: &str) -> Failure {
    Failure(USAGE, format!("the argument `{name}` is null"))
}

/// The result of a function that may panic.
fn guarded<T>(f: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    let caught = catch_unwind(AssertUnwindSafe(f));
    caught.unwrap_or_else(|_| Err(Error::new(Kind::Internal, "a panic: this is a bug, please report it").into()))
}

/// The code of a result, whose text goes to `error`.
///
/// # Safety
/// `error` is null or writable.
unsafe fn finish(done: Result<(), Failure>, error: *mut *mut c_char) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { clear(error) };
    let Err(Failure(code, text)) = done else { return 0 };
    if !error.is_null() {
        // SAFETY: it is not null, so it is writable.
        unsafe { error.write(c_text(&text)) };
    }
    code
}

/// Writes null to a place, unless it is null itself.
///
/// # Safety
/// The place is null or writable.
unsafe fn clear<T>(place: *mut *mut T) {
    if !place.is_null() {
        // SAFETY: it is not null, so it is writable.
        unsafe { place.write(ptr::null_mut()) };
    }
}

/// A text for C, which ends at its first zero.
fn c_text(text: &str) -> *mut c_char {
    let bytes: Vec<u8> = text.bytes().take_while(|byte| *byte != 0).collect();
    CString::new(bytes).unwrap_or_default().into_raw()
}

/// The path in a C string: bytes on Unix, UTF-8 elsewhere.
///
/// # Safety
/// `path` is null or a C string.
unsafe fn path_of(path: *const c_char) -> Option<PathBuf> {
    if path.is_null() {
        return None;
    }
    // SAFETY: as the caller promises.
    let bytes = unsafe { CStr::from_ptr(path) }.to_bytes();
    #[cfg(unix)]
    let path = Path::new(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes)).to_owned();
    #[cfg(not(unix))]
    let path = Path::new(&*String::from_utf8_lossy(bytes)).to_owned();
    Some(path)
}
