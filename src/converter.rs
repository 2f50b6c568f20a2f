//! The converter for use from Rust.

use std::path::Path;
use std::time::Instant;

use crate::compiled::with_rules;
use aten2onnx_convert::Source;
use aten2onnx_core::error::Result;
use aten2onnx_onnx::{Exported, Summary};
use aten2onnx_options::ConvertOptions;

/// Converts ONNX models with the given options.
///
/// ```
/// use aten2onnx::Converter;
///
/// # let model = "tests/data/models/mobilenet_like.pt2";
/// # let folder = tempfile::tempdir()?;
/// # let (newer, older) = (folder.path().join("newer.onnx"), folder.path().join("older.onnx"));
/// # aten2onnx::Exporter::new().opset(18).export(model, &newer)?;
/// let summary = Converter::new().opset(11).convert(newer, older)?;
/// assert_eq!(summary.opset, 11);
/// # Ok::<(), aten2onnx::error::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Converter {
    options: ConvertOptions,
}

impl Converter {
    /// A converter with the default options.
    pub fn new() -> Converter {
        Converter::from(ConvertOptions::default())
    }

    /// The opset of the default domain.
    #[must_use]
    pub fn opset(mut self, opset: u32) -> Converter {
        self.options.output.opset = Some(opset);
        self
    }

    /// The runtime that the model is for, by name (`tensorrt-8.6`). It determines the opset, unless
    /// [`Converter::opset`] sets one that it supports.
    ///
    /// # Errors
    /// No runtime has this name.
    pub fn target(mut self, name: &str) -> Result<Converter> {
        self.options.output.target = Some(aten2onnx_onnx::targets::find(name)?);
        Ok(self)
    }

    /// Reads a model and converts it, without writing it. Weights are not read.
    ///
    /// # Errors
    /// A damaged file, or everything that the target lacks.
    pub fn read(&self, source: impl AsRef<Path>) -> Result<Exported> {
        aten2onnx_convert::convert(&Source::open(source.as_ref())?, &self.options)
    }

    /// Converts an `.onnx` file to another one.
    ///
    /// # Errors
    /// Those of [`Converter::read`], or a file that cannot be written.
    pub fn convert(&self, source: impl AsRef<Path>, destination: impl AsRef<Path>) -> Result<Summary> {
        let start = Instant::now();
        let converted = self.read(source)?;
        let written = converted.write_file(destination, &mut |_, _| Ok(()))?;
        Ok(converted.summary(written, start))
    }
}

impl Default for Converter {
    fn default() -> Converter {
        Converter::new()
    }
}

/// Options without rules get those of this build.
impl From<ConvertOptions> for Converter {
    fn from(mut options: ConvertOptions) -> Converter {
        with_rules(&mut options.output);
        Converter { options }
    }
}
