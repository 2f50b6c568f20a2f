//! Interns names of operators and attributes that are not in a schema.

use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashSet;

/// The name with a static lifetime, as nodes need it.
pub fn intern(name: &str) -> &'static str {
    static NAMES: Mutex<Option<FxHashSet<&'static str>>> = Mutex::new(None);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_with(FxHashSet::default);
    if let Some(known) = names.get(name) {
        return known;
    }
    let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(kept);
    kept
}
