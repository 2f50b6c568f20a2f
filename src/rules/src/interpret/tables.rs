//! Data that mapping files are checked against, and functions that they call.

use super::ExternFn;
use crate::prelude::*;

include!(concat!(env!("OUT_DIR"), "/externs.rs"));

/// The files of `mappings/`, by path, sorted.
pub static MAPPINGS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/mappings.rs"));
