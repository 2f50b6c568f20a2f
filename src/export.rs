//! The pipeline: a program in, an ONNX model out. The command line and the bindings are thin layers over this.
//!
//! ```
//! use aten2onnx::Exporter;
//!
//! # let model = "tests/data/models/mobilenet_like.pt2";
//! # let folder = tempfile::tempdir()?;
//! # let destination = folder.path().join("model.onnx");
//! let summary = Exporter::new().opset(13).dim("s77", "batch").export(model, &destination)?;
//! assert!(destination.exists());
//! println!("{} nodes at opset {}", summary.nodes, summary.opset);
//! # assert_eq!(summary.opset, 13);
//! # Ok::<(), aten2onnx::error::Error>(())
//! ```

mod choices;
mod exporter;

pub use choices::{Choice, Dim, Ir};
pub use exporter::Exporter;

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::onnx::{self, ExternalData, ModelOptions, Provenance};
use crate::passes::Passes;
use crate::program::Program;
use crate::ready::Ready;
use crate::rules::{DEFAULT_OPSET, MAX_OPSET, MIN_OPSET, Rules};
use crate::targets::Target;
use crate::translate::{Fallback, kept, translate};
use crate::{check, clean, foreach, functional, inline, pieces, vmap};

/// What a user may choose.
#[derive(Debug, Clone)]
pub struct Options {
    /// The opset of the default domain.
    pub opset: u32,
    /// The IR version.
    pub ir: Ir,
    /// The runtime that the model is for.
    pub target: Option<&'static Target>,
    /// Where the weights go.
    pub external_data: ExternalData,
    /// How much nodes tell about their origin.
    pub provenance: Provenance,
    /// Names for symbolic dimensions.
    pub dims: Vec<Dim>,
    /// Names for inputs.
    pub input_names: Vec<Choice>,
    /// Names for outputs.
    pub output_names: Vec<Choice>,
    /// New values of buffers and inputs that the model writes to become outputs, and these buffers inputs.
    pub keep_mutations: bool,
    /// Tell which assertions of the model are left out.
    pub keep_assertions: bool,
    /// How much is done to the graph: 0 leaves it as the rules wrote it, 1 runs all passes.
    pub opt_level: u8,
    /// Operators (`aten::elu`) of which to tell which arms of their rules were tried.
    pub trace: Vec<String>,
    /// What operators mean.
    pub rules: Rules,
    /// What is to become of operators without a rule.
    pub fallback: Fallback,
}

impl Options {
    /// What the passes may do.
    pub fn passes(&self) -> Passes {
        Passes::of(self.opt_level, self.external_data)
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            opset: DEFAULT_OPSET,
            ir: Ir::Lowest,
            target: None,
            external_data: ExternalData::Auto,
            provenance: Provenance::Compact,
            dims: Vec::new(),
            input_names: Vec::new(),
            output_names: Vec::new(),
            keep_mutations: false,
            keep_assertions: false,
            opt_level: 1,
            trace: Vec::new(),
            rules: Rules::default(),
            fallback: Fallback::None,
        }
    }
}

/// Exports a program.
pub fn export_program(mut program: Program, options: &Options) -> Result<Ready> {
    check_opset(options.opset)?;
    check_target(options.target, options.opset, options.ir)?;
    prepare_with(&mut program, options.keep_mutations, options.keep_assertions)
        .map_err(|error| error.at(program.source.clone()))?;
    let source = PathBuf::from(&program.source);
    program.notes.extend(kept(&program, options));
    let graph = translate(&program, options).map_err(|error| error.at(program.source.clone()))?;
    let named = ModelOptions {
        ir: options.ir.version(options.opset),
        provenance: options.provenance,
        dims: choices::dims(&graph, &options.dims)?,
        names: choices::names(&graph, &options.input_names, &options.output_names)?,
    };
    let model = onnx::model::build(&graph, &named)?;
    if let Some(target) = options.target {
        target.check_needed_ir(model.proto.ir_version())?;
    }
    Ok(Ready { graph, model, notes: program.notes, source, external_data: options.external_data })
}

/// Makes a program ready for translation: every name defined once, no writes, nothing that nobody reads.
///
/// # Errors
/// A damaged program, or a write that cannot be made functional.
pub fn prepare(program: &mut Program) -> Result<()> {
    prepare_with(program, false, false)
}

fn prepare_with(program: &mut Program, keep_mutations: bool, keep_assertions: bool) -> Result<()> {
    check::names(program)?;
    inline::inline(program);
    vmap::to_maps(program);
    foreach::unroll(program);
    // Assertions would make the next pass refresh views for nobody.
    if keep_assertions {
        clean::report_assertions(program);
    }
    clean::clean(program);
    pieces::name_sizes(program);
    functional::functionalise(program, keep_mutations)?;
    clean::clean(program);
    Ok(())
}

/// Does the runtime take what is asked for?
pub fn check_target(target: Option<&'static Target>, opset: u32, ir: Ir) -> Result<()> {
    let Some(target) = target else { return Ok(()) };
    target.opset(Some(opset))?;
    target.check_ir(ir, opset)
}

/// Is it an opset that we export to?
pub fn check_opset(opset: u32) -> Result<()> {
    let message = match opset {
        _ if opset < MIN_OPSET => format!("opset {opset} is too old"),
        _ if opset > MAX_OPSET => format!("opset {opset} is not known yet"),
        _ => return Ok(()),
    };
    Err(Error::unsupported(message)
        .help(format!("choose one of {MIN_OPSET} to {MAX_OPSET}; the default is {DEFAULT_OPSET}")))
}
