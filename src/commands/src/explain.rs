//! `aten2onnx explain-error`: prints the page of an error code of the rule compiler.

use super::report::{self, Stop};
use aten2onnx_core::error::{Error, Result};
use aten2onnx_opmap::explain;

/// Explain an error code of the rule compiler, such as E0301
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The code
    #[arg(value_name = "CODE")]
    code: String,
}

/// Runs the command.
pub fn explain_error(args: &Args) -> Result<(), Stop> {
    let code = args.code.to_uppercase();
    match explain::explain(&code) {
        Some(page) => report::print(&format!("{}\n", page.trim_end())),
        None => {
            let error = Error::unsupported(format!("unknown error code `{}`", args.code));
            Err(error.help("codes look like E0301; the compiler prints them in brackets").into())
        }
    }
}
