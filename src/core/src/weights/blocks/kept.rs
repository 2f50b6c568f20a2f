//! Scales and zero points that are kept until all three weights of some floats are written, within a limit for all floats of the process.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::fit::BlockFit;

/// The most bytes that are kept.
const MOST: usize = 64 << 20;
/// The bytes of a scale and a zero point.
const EACH: usize = 5;

static HELD: AtomicUsize = AtomicUsize::new(0);

/// Scales and zero points by block.
#[derive(Debug, Default)]
pub(super) struct BlockFits {
    pub scales: Vec<f32>,
    pub zeros: Vec<u8>,
}

impl BlockFits {
    pub fn with_capacity(count: usize) -> BlockFits {
        BlockFits { scales: Vec::with_capacity(count), zeros: Vec::with_capacity(count) }
    }

    pub fn push(&mut self, fit: BlockFit) {
        self.scales.push(fit.scale);
        self.zeros.push(fit.zero);
    }

    pub fn at(&self, index: usize) -> Option<BlockFit> {
        Some(BlockFit { scale: *self.scales.get(index)?, zero: *self.zeros.get(index)? })
    }
}

/// What is kept of some floats.
#[derive(Debug, Default)]
pub(super) struct KeptFits(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    fits: Option<Arc<BlockFits>>,
    /// A bit for each part that was written since.
    used: u32,
}

impl KeptFits {
    /// What is kept, if anything is.
    pub fn get(&self) -> Option<Arc<BlockFits>> {
        self.lock().fits.clone()
    }

    /// Whether so many blocks may be kept.
    pub fn has_room(&self, count: usize) -> bool {
        HELD.load(Ordering::Relaxed) + count * EACH <= MOST
    }

    /// Keeps these if there is room for them.
    pub fn keep(&self, fits: BlockFits) -> Arc<BlockFits> {
        let fits = Arc::new(fits);
        let mut kept = self.lock();
        if kept.fits.is_none() && self.has_room(fits.scales.len()) {
            HELD.fetch_add(fits.scales.len() * EACH, Ordering::Relaxed);
            kept.fits = Some(Arc::clone(&fits));
        }
        fits
    }

    /// Notes that a part was written. After all of them nothing is kept.
    pub fn used(&self, part: u8, parts: u32) {
        let mut kept = self.lock();
        kept.used |= 1 << part;
        if kept.used.count_ones() >= parts {
            kept.clear();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn clear(&mut self) {
        self.used = 0;
        if let Some(fits) = self.fits.take() {
            HELD.fetch_sub(fits.scales.len() * EACH, Ordering::Relaxed);
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.clear();
    }
}
