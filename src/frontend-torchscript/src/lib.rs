//! The front end for TorchScript archives, as `torch.jit.save` writes them; libtorch is not needed.
//!
//! In the order of data flow: `code` finds and parses the code (`lexer`, `parser`, `syntax`), `objects` builds the
//! modules of the pickle on a heap (`values`), and `interpret` runs a method: what depends on inputs becomes a program.
//! `types`, `schemas` and `resolve` choose the overloads of operators, `versions` knows what they meant in old archives,
//! `quantized` reads packed weights, `literals` knows which numbers are sizes, `inputs` what the method is given, and `sources` the lines of the author; `traces` makes
//! one function of several traces at other sizes, and `about` tells what an archive says of itself. Types and sizes of results
//! come from the rules ([`aten2onnx_translate::scratch`]). The archive is not trusted: nothing of a pickle is executed, and time,
//! memory and depth are bounded.

pub mod about;
mod code;
mod inputs;
mod interpret;
mod lexer;
#[doc(hidden)]
pub mod literals;
mod objects;
mod parser;
mod quantized;
mod resolve;
mod schemas;
mod sources;
mod syntax;
mod traces;
mod types;
mod values;
mod versions;

use std::rc::Rc;

use aten2onnx_archive::pickle::Pickle;
use aten2onnx_archive::zip::Archive;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_options::SourceOptions;
use aten2onnx_program::Program;
use aten2onnx_rules::Rules;
use aten2onnx_translate::scratch::Scratch;

use code::{ClassCode, Code, readable};
use interpret::Interpreter;
use interpret::recorder::Recorder;
use objects::{Reader, States, Weights};
use sources::Sources;
#[doc(hidden)]
pub use traces::{Sizes, Traces, shown};
use types::Type;
use values::{CellData, Heap, Item, Tensor, Value};

/// The stack of the thread that reads an archive: its depth is bounded by counters, not by the caller's stack.
const STACK: usize = 512 << 20;
/// The largest pickle that is read if it is compressed.
const MAX_PICKLE: usize = 1 << 30;

/// Reads a method of an archive.
///
/// # Errors
/// A damaged archive, an input that is not described, or something that a model of ONNX cannot do.
pub fn read(archive: &Archive, options: &SourceOptions, rules: &Rules) -> Result<Program> {
    with_stack(|| {
        let Loaded { version, code, heap, weights, states, constants, root } = load(archive)?;
        let recorder = recorder(weights, rules, options.default_dtype);
        let interpreter = Interpreter::new(code, heap, recorder, Sources::new(archive), version);
        run_method(&mut ready(interpreter, states, constants)?, archive, &root, options)
    })
}

/// Reads traces of one function at several sizes as one program.
///
/// # Errors
/// The traces differ by more than their sizes, or something that a model of ONNX cannot do.
#[doc(hidden)]
pub fn read_traces(traces: &Traces, rules: &Rules) -> Result<Program> {
    let Some(archive) = traces.archives.first() else { return Err(Error::internal("there is no trace")) };
    with_stack(|| {
        let Loaded { version, code, heap, mut weights, states, constants, root } = load(archive)?;
        let lent = traces.weights.iter().map(|weight| weights.tensor(weight.clone())).collect();
        let recorder = recorder(weights, rules, None);
        let interpreter = Interpreter::new(code, heap, recorder, Sources::new(archive), version);
        run_traces(&mut ready(interpreter, states, constants)?, traces, &root, lent)
    })
}

/// Runs something on a thread with a large stack.
fn with_stack<T: Send>(run: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run).map_err(Error::from)?;
        thread.join().unwrap_or_else(|_| Err(Error::internal("the reader of TorchScript panicked")))
    })
}

/// The objects of an archive, and its code.
struct Loaded<'a> {
    version: u64,
    code: Code<'a>,
    heap: Heap,
    weights: Weights,
    states: States,
    constants: Option<Item>,
    root: Item,
}

fn load(archive: &Archive) -> Result<Loaded<'_>> {
    let version = check(archive)?;
    let mut code = Code::new(archive);
    let (mut heap, mut weights, mut states) = (Heap::default(), Weights::default(), States::new());
    let mut objects = |entry: &str, folder: &'static str, path: &str| -> Result<Option<Item>> {
        if !archive.contains(entry) {
            return Ok(None);
        }
        let bytes = archive.inflated(entry, MAX_PICKLE)?;
        let pickle = Pickle::read(&bytes).map_err(|error| archive.error(entry, error))?;
        let mut reader = Reader::new(archive, folder, &pickle, &mut code, &mut heap, &mut weights, &mut states);
        reader.root(path).map(Some).map_err(|error| archive.error(entry, error))
    };
    let constants = objects("constants.pkl", "constants/", "constants")?;
    let root = objects("data.pkl", "data/", "")?.ok_or_else(|| Error::input("the archive has no `data.pkl`"))?;
    Ok(Loaded { version, code, heap, weights, states, constants, root })
}

/// An empty program that may use these weights.
fn recorder(weights: Weights, rules: &Rules, default: Option<Dtype>) -> Recorder<'_> {
    let memories = weights.next_memory();
    let mut scratch = Scratch::new(rules);
    scratch.set_default_float(default.unwrap_or(Dtype::Float32));
    Recorder::new(scratch, weights.found, memories)
}

/// Gives an interpreter the constants and the states of its objects.
fn ready<'a, 'r>(
    mut interpreter: Interpreter<'a, 'r>,
    states: States,
    constants: Option<Item>,
) -> Result<Interpreter<'a, 'r>> {
    interpreter.constants = match constants.map(|item| item.value) {
        Some(Value::Tuple(tuple)) => tuple.items.clone(),
        _ => Vec::new(),
    };
    if interpreter.version > versions::NEWEST {
        let (version, newest) = (interpreter.version, versions::NEWEST);
        interpreter.notes.push(format!(
            "the archive has version {version}, which is newer than {newest}: its operators may mean something else"
        ));
    }
    interpreter.set_states(states)?;
    Ok(interpreter)
}

/// Refuses what is not a TorchScript archive of today's form; returns its version.
fn check(archive: &Archive) -> Result<u64> {
    if archive.contains("model.json") {
        let error = Error::unsupported("it is a TorchScript archive of torch 1.0 or 1.1 (`model.json`)");
        return Err(error.help("load it with `torch.jit.load` of a torch up to 2.0 and save it again"));
    }
    if archive.names().any(|name| name.starts_with(".data/ts_code/")) {
        let error = Error::unsupported("it is a torch.package archive");
        return Err(error.help("load the model with `torch.package.PackageImporter` and save it with `torch.jit.save`"));
    }
    if archive.text("byteorder")? == Some("big") {
        return Err(archive.error("byteorder", Error::unsupported("it was written on a big-endian machine")));
    }
    let version = match archive.text("version")? {
        Some(version) => Some(version),
        None => archive.text(".data/version")?,
    };
    version.map_or(Ok(3), |version| version.parse().map_err(|_| Error::input(format!("its version is {version:?}"))))
}

/// The class of the root module.
fn class_of(heap: &Heap, root: &Item) -> Result<Rc<ClassCode>> {
    let Value::Object(cell) = root.value else {
        return Err(Error::input("the archive has no module"));
    };
    match heap.get(cell).map(|data| &**data) {
        Some(CellData::Object(object)) => Ok(Rc::clone(&object.class)),
        _ => Err(Error::internal("expected an object")),
    }
}

/// Runs a method of the root module.
fn run_method(
    this: &mut Interpreter<'_, '_>,
    archive: &Archive,
    root: &Item,
    options: &SourceOptions,
) -> Result<Program> {
    let class = class_of(&this.heap, root)?;
    // A call of the module runs its hooks, a call of `forward` does not.
    let has_hooks = !class.tree.pre_hooks.is_empty() || !class.tree.hooks.is_empty();
    let (name, hooks) = match options.method.as_deref() {
        None if has_hooks => {
            this.notes
                .push("the hooks of the model are part of the export; `--method forward` leaves them out".to_owned());
            ("forward", true)
        }
        None => ("forward", false),
        Some("__call__") => ("forward", true),
        Some(name) => (name, false),
    };
    let method = class.method(name).ok_or_else(|| no_method(&class, name))?;
    if calls(&method.tree.body, "ops.prim.ConstantMKLDNNTensor") {
        return Err(interpret::weights_are_missing());
    }
    let specs = inputs::specs(archive, &method.tree, name, options)?;
    this.origins = inputs::origins(archive, &method.tree, name, &specs)?;
    let mut found = Vec::new();
    let mut args = Vec::new();
    for param in method.tree.params.iter().skip(1) {
        let Some((_, spec)) = specs.iter().find(|(name, _)| **name == *param.name) else { continue };
        let ty = match &param.ty {
            Some(ty) => Type::read(ty)?,
            None => Type::Tensor,
        };
        args.push((Rc::clone(&param.name), this.input(&param.name, spec, &ty, &mut found)?));
    }
    let before = this.attributes();
    let result = this.call_root(&class, &method, root, args, hooks)?;
    let changed = this.changed_attributes(&before);
    this.note_suspects();
    let mut program = this.program(found, &result, changed)?;
    for symbol in &this.recorder.size_symbols {
        program.ranges.insert(symbol.clone(), (Some(1), None));
    }
    Ok(program)
}

/// Runs what several traces have in common.
fn run_traces(this: &mut Interpreter<'_, '_>, traces: &Traces, root: &Item, lent: Vec<Tensor>) -> Result<Program> {
    let class = class_of(&this.heap, root)?;
    let method = traces.method(&class)?;
    let mut found = Vec::new();
    let mut values = Vec::new();
    for (name, spec) in &traces.inputs {
        values.push(this.input(name, spec, &Type::Tensor, &mut found)?);
    }
    values.extend(lent.into_iter().map(Item::tensor));
    let params = method.tree.params.iter().skip(1).map(|param| Rc::clone(&param.name));
    let args = params.zip(values).collect();
    this.runs.clone_from(&traces.sizes);
    let result = this.call_root(&class, &method, root, args, false)?;
    let mut program = this.program(found, &result, Vec::new())?;
    for symbol in &this.recorder.size_symbols {
        program.ranges.insert(symbol.clone(), (Some(1), None));
    }
    Ok(program)
}

/// Whether a statement assigns the result of a call of this function.
fn calls(body: &[syntax::Stmt], path: &str) -> bool {
    use syntax::{ExprKind, StmtKind};
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Assign { values, .. } => values.iter().any(|value| match &value.kind {
            ExprKind::Call { callee, args, .. } => {
                let is_it = |expr: &syntax::Expr| matches!(&expr.kind, ExprKind::Call { callee, .. } if callee.path().as_deref() == Some(path));
                callee.path().as_deref() == Some(path) || args.iter().any(is_it)
            }
            _ => false,
        }),
        _ => false,
    })
}

fn no_method(class: &ClassCode, name: &str) -> Error {
    let methods: Vec<String> = class.tree.methods.iter().map(|method| inputs::signature(method)).collect();
    let error = Error::unsupported(format!("the module `{}` has no method `{name}`", readable(&class.name)));
    match methods.is_empty() {
        true => error,
        false => error.help(format!("choose one with `--method NAME`: {}", methods.join("; "))),
    }
}
