//! Writes the pieces of a model to files and streams.
//!
//! All positions are known before the first byte is written. A stream receives the pieces in order. A file receives
//! them in any order: helper threads write pieces that are gathered or computed, while this thread copies contiguous
//! ones.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use super::stage::io_failed;
use aten2onnx_core::error::{Error, Kind, Result};
use aten2onnx_core::weights::MappedFile;
use aten2onnx_core::weights::{self, Payload, Sink};

/// Receives the number of written and total bytes; an error stops writing and removes the partial output.
pub type Progress<'a> = dyn FnMut(u64, u64) -> Result<()> + 'a;

/// A part of a file.
pub struct Piece<'a> {
    /// The position of its first byte.
    pub at: u64,
    /// Its content.
    pub content: Content<'a>,
}

/// The content of a piece.
pub enum Content<'a> {
    /// Bytes in memory.
    Bytes(&'a [u8]),
    /// A weight.
    Payload(&'a Payload<'a>),
}

/// The size of the write buffer.
const BUFFER: usize = 64 << 10;
/// Consecutive pieces are one job until they have this many bytes.
const JOB: u64 = 8 << 20;
/// The most bytes that the system copies at once, so that progress can be reported.
const STRETCH: usize = 32 << 20;
/// More helper threads would wait for the disk.
const HELPERS: usize = 3;

/// Reports the progress of writing.
pub struct Meter<'a, 'b> {
    done: u64,
    total: u64,
    progress: &'a mut Progress<'b>,
}

impl<'a, 'b> Meter<'a, 'b> {
    /// Starts at 0 of `total` bytes.
    pub fn new(total: u64, progress: &'a mut Progress<'b>) -> Meter<'a, 'b> {
        Meter { done: 0, total, progress }
    }

    fn reach(&mut self, done: u64) -> Result<()> {
        self.done = done;
        (self.progress)(self.done, self.total)
    }
}

impl Piece<'_> {
    /// The number of bytes.
    pub fn len(&self) -> u64 {
        match self.content {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::Payload(payload) => payload.len(),
        }
    }

    /// Whether it is gathered or computed.
    fn is_made(&self) -> bool {
        matches!(self.content, Content::Payload(payload) if payload.is_made())
    }

    fn write(&self, sink: &mut dyn Sink) -> Result<()> {
        match self.content {
            Content::Bytes(bytes) => sink.put(bytes),
            Content::Payload(payload) => payload.write(sink),
        }
    }
}

/// Writes contiguous pieces to a stream. `failed` is the message for write errors.
pub fn stream(
    out: &mut dyn Write,
    pieces: &[Piece<'_>],
    meter: &mut Meter<'_, '_>,
    failed: &dyn Fn(io::Error) -> Error,
) -> Result<()> {
    let mut sink = Stream { out: BufWriter::with_capacity(BUFFER, out), meter, failed };
    pieces.iter().try_for_each(|piece| piece.write(&mut sink))?;
    sink.out.flush().map_err(failed)
}

struct Stream<'a, 'b, 'c> {
    out: BufWriter<&'a mut dyn Write>,
    meter: &'a mut Meter<'b, 'c>,
    failed: &'a dyn Fn(io::Error) -> Error,
}

impl Sink for Stream<'_, '_, '_> {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(self.failed)?;
        self.meter.reach(self.meter.done + bytes.len() as u64)
    }
}

/// Writes pieces in ascending order to an empty file. Gaps are zeros. `path` is used in messages.
pub fn file(file: &File, path: &Path, pieces: &[Piece<'_>], meter: &mut Meter<'_, '_>) -> Result<()> {
    let len = pieces.last().map_or(0, |last| last.at + last.len());
    reserve(file, len);
    let jobs = jobs(pieces);
    let made = jobs.iter().filter(|job| job.is_made).count();
    // This thread keeps at least one job.
    let helpers = match made.min(jobs.len().saturating_sub(1)) {
        0 => 0,
        wanted => wanted.min(HELPERS).min(processors() - 1),
    };
    let (written, stop, failed) = (AtomicU64::new(0), AtomicBool::new(false), Mutex::new(None));
    let work = Work { file, path, pieces, jobs: Mutex::new(jobs), written, stop, failed };
    let before = meter.done;
    thread::scope(|scope| {
        for _ in 0..helpers {
            scope.spawn(|| work.run(first_made, &mut |_| Ok(())));
        }
        work.run(VecDeque::pop_back, &mut |written| meter.reach(before + written));
    });
    match locked(&work.failed).take() {
        Some(error) => Err(error),
        None => meter.reach(before + len),
    }
}

/// `available_parallelism` reads a dozen system files.
fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Reserves the space in advance: it is less fragmented, and the disk cannot run full in between.
fn reserve(file: &File, len: u64) {
    #[cfg(target_os = "linux")]
    if len > JOB {
        // If the file system does not support it or the disk is full, writing reports the error.
        let _ = rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, len);
    }
    let _ = (file, len);
}

/// Pieces that one thread writes.
struct Job {
    pieces: Range<usize>,
    /// Whether it has a large piece that is gathered or computed.
    is_made: bool,
}

fn jobs(pieces: &[Piece<'_>]) -> VecDeque<Job> {
    let mut jobs = VecDeque::new();
    let (mut start, mut len) = (0, 0);
    for (index, piece) in pieces.iter().enumerate() {
        let large_made = piece.is_made() && piece.len() >= BUFFER as u64;
        if large_made && start < index {
            jobs.push_back(Job { pieces: start..index, is_made: false });
            (start, len) = (index, 0);
        }
        len += piece.len();
        if large_made || len >= JOB {
            jobs.push_back(Job { pieces: start..index + 1, is_made: large_made });
            (start, len) = (index + 1, 0);
        }
    }
    if start < pieces.len() {
        jobs.push_back(Job { pieces: start..pieces.len(), is_made: false });
    }
    jobs
}

fn first_made(jobs: &mut VecDeque<Job>) -> Option<Job> {
    let index = jobs.iter().position(|job| job.is_made)?;
    jobs.remove(index)
}

/// The state that threads share.
struct Work<'a> {
    file: &'a File,
    path: &'a Path,
    pieces: &'a [Piece<'a>],
    jobs: Mutex<VecDeque<Job>>,
    written: AtomicU64,
    stop: AtomicBool,
    failed: Mutex<Option<Error>>,
}

impl Work<'_> {
    /// Runs jobs until none is left. The first error stops all threads.
    fn run(&self, take: fn(&mut VecDeque<Job>) -> Option<Job>, tell: &mut dyn FnMut(u64) -> Result<()>) {
        let next = || take(&mut locked(&self.jobs));
        while let Some(job) = next() {
            if let Err(error) = self.write(&job, tell) {
                self.stop.store(true, Ordering::Relaxed);
                locked(&self.failed).get_or_insert(error);
                return;
            }
        }
    }

    fn write(&self, job: &Job, tell: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        let pieces = self.pieces.get(job.pieces.clone()).unwrap_or_default();
        let at = pieces.first().map_or(0, |piece| piece.at);
        let mut sink = At { work: self, at, buffer: Vec::with_capacity(BUFFER), tell };
        for piece in pieces {
            if piece.at != sink.at + sink.buffer.len() as u64 {
                sink.flush()?;
                sink.at = piece.at;
            }
            piece.write(&mut sink)?;
        }
        sink.flush()
    }
}

/// A sink for a position of the file.
struct At<'a, 'b> {
    work: &'a Work<'a>,
    at: u64,
    buffer: Vec<u8>,
    tell: &'b mut dyn FnMut(u64) -> Result<()>,
}

impl At<'_, '_> {
    fn flush(&mut self) -> Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        self.now(&buffer)?;
        self.buffer = buffer;
        self.buffer.clear();
        Ok(())
    }

    fn now(&mut self, bytes: &[u8]) -> Result<()> {
        write_at(self.work.file, bytes, self.at).map_err(|error| io_failed(self.work.path, &error))?;
        self.report_written(bytes.len() as u64)
    }

    /// Reports that `len` more bytes are written.
    fn report_written(&mut self, len: u64) -> Result<()> {
        if self.work.stop.load(Ordering::Relaxed) {
            return Err(Error::new(Kind::Stopped, "another thread failed"));
        }
        self.at += len;
        let written = self.work.written.fetch_add(len, Ordering::Relaxed);
        (self.tell)(written + len)
    }
}

impl Sink for At<'_, '_> {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len() + bytes.len() > BUFFER {
            self.flush()?;
        }
        if bytes.len() >= BUFFER {
            return self.now(bytes);
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    fn pass(&mut self, file: &MappedFile, start: usize, len: usize) -> Result<()> {
        let mut copied = 0;
        if len >= BUFFER {
            self.flush()?;
            while copied < len {
                match file.copy_to(start + copied, STRETCH.min(len - copied), self.work.file, self.at) {
                    0 => break,
                    more => {
                        self.report_written(more as u64)?;
                        copied += more;
                    }
                }
            }
        }
        weights::pages(file, start + copied, len - copied, &mut |stretch| self.put(stretch))
    }
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(windows)]
fn write_at(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = std::os::windows::fs::FileExt::seek_write(file, bytes, at)?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = bytes.get(written..).unwrap_or_default();
        at += written as u64;
    }
    Ok(())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
