//! Half precision by option. An exporter for one opset can do without it: then the options are refused.

#[cfg(feature = "precision")]
mod with {
    use aten2onnx_core::error::Result;
    use aten2onnx_options::OutputOptions;
    use aten2onnx_precision::Request;
    pub use aten2onnx_precision::narrow;

    /// What is asked for, if anything is.
    ///
    /// # Errors
    /// Options that contradict each other.
    pub fn request(options: &OutputOptions) -> Result<Option<Request>> {
        options.precision.request(options.external_data, options.target)
    }
}

#[cfg(not(feature = "precision"))]
mod without {
    use aten2onnx_core::error::{Error, Result};
    use aten2onnx_onnx::graph::Graph;
    use aten2onnx_options::{OutputOptions, PrecisionOptions};

    /// No request can be made.
    pub enum Request {}

    /// Nothing is asked for.
    ///
    /// # Errors
    /// Something is.
    pub fn request(options: &OutputOptions) -> Result<Option<Request>> {
        if options.precision == PrecisionOptions::default() {
            return Ok(None);
        }
        let error = Error::unsupported("this exporter was built without the options for half precision");
        Err(error.help("build it with the feature `precision`"))
    }

    pub fn narrow(_: &mut Graph, request: &Request) -> Result<Vec<String>> {
        match *request {}
    }
}

#[cfg(feature = "precision")]
pub use with::{narrow, request};
#[cfg(not(feature = "precision"))]
pub use without::{narrow, request};
