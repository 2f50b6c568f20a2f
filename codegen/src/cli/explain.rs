//! `explain`: the page of an error code.

use aten2onnx_opmap::explain;

use super::report::{Stop, print};

/// Explain an error code, such as E0301
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The error code
    #[arg(value_name = "CODE")]
    code: String,
}

/// Runs the command.
pub fn explain_error(args: &Args) -> Result<(), Stop> {
    match explain::explain(&args.code) {
        Some(page) => print(&format!("{}\n", page.trim_end())),
        None => {
            let codes = explain::codes().join(" ");
            Err(Stop::Unable(format!("unknown error code `{}`; the codes are {codes}", args.code)))
        }
    }
}
