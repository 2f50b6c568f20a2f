//! Runtimes by name: the newest opset and IR version that each supports, and missing operators. The facts are in
//! `mappings/targets/`.

use crate::facts::DEFAULT_OPSET;
use crate::model::Ir;

include!(concat!(env!("OUT_DIR"), "/targets.rs"));
use aten2onnx_core::error::{Error, Result};

/// A release of a runtime or compiler.
#[derive(Debug)]
pub struct Target {
    /// `tensorrt`
    pub runtime: &'static str,
    /// `8.6`
    pub release: &'static str,
    /// Its full name.
    pub what: &'static str,
    /// Whether it lacks the kernels that ONNX Runtime's CPU provider lacks.
    pub kernels: bool,
    /// The oldest supported opset.
    pub oldest_opset: u32,
    /// The newest supported opset.
    pub newest_opset: u32,
    /// The newest supported IR version, if known.
    pub newest_ir: Option<u32>,
    /// Operators that are missing entirely.
    pub lacks: &'static [&'static str],
    /// The source of these facts.
    pub source: &'static str,
}

/// Finds a target by name: `tensorrt-8.6`, or `tensorrt` for the newest known release.
pub fn find(name: &str) -> Result<&'static Target> {
    let found = TARGETS.iter().find(|target| target.runtime == name || target.name() == name);
    found.ok_or_else(|| {
        let error = Error::unsupported(format!("unknown target `{name}`"));
        match nearest(name) {
            Some(near) => error.help(format!("did you mean `{near}`? `aten2onnx targets` lists all")),
            None => error.help("`aten2onnx targets` lists all"),
        }
    })
}

impl Target {
    /// `tensorrt-8.6`
    pub fn name(&self) -> String {
        format!("{}-{}", self.runtime, self.release)
    }

    /// The opset to write: the requested one, if the runtime supports it; otherwise the default one, or the nearest
    /// supported one.
    pub fn opset(&self, asked: Option<u32>) -> Result<u32> {
        let (oldest, newest) = (self.oldest_opset, self.newest_opset);
        match asked {
            None => Ok(DEFAULT_OPSET.clamp(oldest.min(newest), newest)),
            Some(opset) if (oldest..=newest).contains(&opset) => Ok(opset),
            Some(opset) => Err(Error::unsupported(format!("{} does not support opset {opset}", self.name()))
                .help(format!("it supports {oldest} to {newest}; omit `--opset` to use one of these"))),
        }
    }

    /// Checks that the runtime supports the requested IR version.
    pub fn check_ir(&self, asked: Ir, opset: u32) -> Result<()> {
        match (asked.version(opset), self.newest_ir) {
            (Some(ir), Some(newest)) if ir > newest => {
                Err(Error::unsupported(format!("{} does not support IR version {ir}", self.name())).help(format!(
                    "the newest that it supports is {newest}; omit `--ir` to use the lowest that the model requires"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the runtime supports the IR version that the model requires.
    pub fn check_needed_ir(&self, needed: i64) -> Result<()> {
        match self.newest_ir {
            Some(newest) if needed > i64::from(newest) => Err(Error::unsupported(format!(
                "the model needs IR version {needed}, but {} supports at most {newest}",
                self.name()
            ))),
            _ => Ok(()),
        }
    }
}

/// The known name with the smallest edit distance.
fn nearest(name: &str) -> Option<String> {
    let names = TARGETS.iter().flat_map(|target| [target.runtime.to_owned(), target.name()]);
    let best = names.map(|known| (distance(name, &known), known)).min()?;
    (best.0 <= name.chars().count().max(4) / 2).then_some(best.1)
}

/// The edit distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_name_alone_is_the_newest_release() {
        assert_eq!(find("tensorrt").unwrap().name(), "tensorrt-11");
        assert_eq!(find("tensorrt-8.6").unwrap().newest_opset, 17);
        assert_eq!(find("onnxruntime").unwrap().name(), "onnxruntime-1.31");
    }

    #[test]
    fn unknown_names_get_the_nearest() {
        assert!(find("tensort-8.4").unwrap_err().help.unwrap().contains("`tensorrt-8.4`"));
        assert!(find("onnxruntme").unwrap_err().help.unwrap().contains("`onnxruntime`"));
        assert!(!find("a toaster with no name at all").unwrap_err().help.unwrap().contains("did you mean"));
    }

    #[test]
    fn the_default_opset_is_kept_if_supported() {
        assert_eq!(find("onnxruntime").unwrap().opset(None).unwrap(), DEFAULT_OPSET);
        assert_eq!(find("tensorrt-8.4").unwrap().opset(None).unwrap(), 13);
        assert_eq!(find("sima").unwrap().opset(Some(17)).unwrap(), 17);
        let error = find("sima").unwrap().opset(Some(13)).unwrap_err();
        assert!(error.message.contains("does not support opset 13"), "{error}");
        assert!(find("horizon").unwrap().check_ir(Ir::Version(10), 19).is_err());
        assert!(find("horizon").unwrap().check_needed_ir(10).is_err());
    }
}
