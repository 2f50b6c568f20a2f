//! Runs a method with values that are known or symbolic, and records the operators on tensors as a program.
//!
//! Modules, strings, flags and most numbers are known, so configuration code folds away and loops of known length
//! unroll. `statements` and `expressions` follow the tree; `operators` chooses overloads, runs those on numbers
//! (`numbers`), strings (`strings`), lists (`lists`) and properties (`reflect`), and makes nodes of the others (`nodes`);
//! `branches` and `loops` turn what depends on data into nested graphs, whose results `merge` unites. Work is bounded by
//! a number of steps, of nodes, and of nested calls.

mod arithmetic;
mod branches;
mod calls;
mod choices;
mod constants;
mod endless;
mod expressions;
mod fixed_sizes;
mod lists;
mod loop_nodes;
mod loops;
mod merge;
mod names;
mod nodes;
mod numbers;
mod operators;
pub mod outputs;
mod packed;
mod quantized;
pub mod recorder;
mod recurrent;
mod reflect;
mod rescaled;
mod rounding;
mod statements;
mod strides;
mod strings;
mod tensors;
mod varying;
mod wrapped;

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::code::{ClassCode, Code, FunctionCode, readable};
use super::inputs::Origin;
use super::schemas::Schemas;
use super::sources::Sources;
use super::syntax::Name;
use super::traces::Sizes;
use super::values::{Cell, CellData, Heap, Item, Object, Value};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use fixed_sizes::Suspect;
pub use operators::weights_are_missing;
use recorder::Recorder;
pub use strides::contiguous;

/// The most statements and calls that are run; long lists count as several.
const MAX_STEPS: usize = 3_000_000;
/// The most rounds of all loops that are unrolled.
const MAX_ROUNDS: usize = 30_000;
/// The deepest nesting of calls, blocks and expressions together; libtorch forbids recursion.
const MAX_DEPTH: usize = 2_500;
/// The deepest nesting of calls.
const MAX_CALLS: usize = 256;
/// The most objects on the heap.
const MAX_OBJECTS: usize = 10_000_000;

/// The state of a run.
pub struct Interpreter<'a, 'r> {
    pub code: Code<'a>,
    pub heap: Heap,
    pub recorder: Recorder<'r>,
    pub notes: Vec<String>,
    /// `CONSTANTS.cN`
    pub constants: Vec<Item>,
    /// The version of the archive, which decides what some operators mean.
    pub version: u64,
    pub sources: Sources<'a>,
    /// The sizes of each trace, if there are several.
    pub runs: Vec<Sizes>,
    schemas: Schemas,
    frames: Vec<Frame>,
    steps: usize,
    rounds: usize,
    depth: usize,
    /// Whether the last error was raised by the model.
    raised: bool,
    /// Where the symbolic sizes of inputs come from.
    pub origins: FxHashMap<String, Origin>,
    /// The literals among the arguments of the last call of an operator.
    literals: Vec<i64>,
    /// Literals that may be sizes of the example.
    suspects: Vec<Suspect>,
    /// What booleans compare, for those that compare sizes.
    comparisons: FxHashMap<Name, (String, SymInt, SymInt)>,
    /// Constants of classes, which objects share.
    finals: FxHashMap<(Name, Name), Item>,
}

/// A running function.
struct Frame {
    function: Rc<FunctionCode>,
    locals: FxHashMap<Name, Item>,
    /// The path and class of the module whose method it is, or of its caller's.
    module: Option<Name>,
    class: Option<Name>,
    /// The offset of the current expression.
    at: usize,
}

impl<'a, 'r> Interpreter<'a, 'r> {
    /// A run that has not started.
    pub fn new(code: Code<'a>, heap: Heap, recorder: Recorder<'r>, sources: Sources<'a>, version: u64) -> Self {
        Interpreter {
            code,
            heap,
            recorder,
            notes: Vec::new(),
            constants: Vec::new(),
            version,
            sources,
            runs: Vec::new(),
            schemas: Schemas::default(),
            frames: Vec::new(),
            steps: 0,
            rounds: 0,
            depth: 0,
            raised: false,
            origins: FxHashMap::default(),
            literals: Vec::new(),
            suspects: Vec::new(),
            comparisons: FxHashMap::default(),
            finals: FxHashMap::default(),
        }
    }

    /// The object of a cell.
    fn object(&self, cell: Cell) -> Result<&Object> {
        match self.heap.get(cell).map(|data| &**data) {
            Some(CellData::Object(object)) => Ok(object),
            _ => Err(Error::internal("expected an object")),
        }
    }

    /// Adds an object to the heap.
    fn add(&mut self, data: CellData) -> Result<Cell> {
        match self.heap.len() < MAX_OBJECTS {
            true => Ok(self.heap.add(data)),
            false => Err(Error::unsupported(format!("the model makes more than {MAX_OBJECTS} objects"))),
        }
    }

    fn frame(&self) -> Result<&Frame> {
        self.frames.last().ok_or_else(|| Error::internal("no function runs"))
    }

    fn frame_mut(&mut self) -> Result<&mut Frame> {
        self.frames.last_mut().ok_or_else(|| Error::internal("no function runs"))
    }

    /// The dtype of floats that have none: `torch.get_default_dtype()` where the model was made.
    fn default_float(&self) -> Dtype {
        self.recorder.scratch.default_float()
    }

    /// Counts a step.
    fn step(&mut self) -> Result<()> {
        self.charge(0)
    }

    /// Counts work on so many elements.
    fn charge(&mut self, elements: usize) -> Result<()> {
        self.steps = self.steps.saturating_add(1 + elements / 64);
        match self.steps <= MAX_STEPS {
            true => Ok(()),
            false => Err(Error::unsupported(format!("the model runs more than {MAX_STEPS} statements"))),
        }
    }

    /// Runs something nested.
    fn nested<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            return Err(Error::unsupported(format!("the code is nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let result = run(self);
        self.depth -= 1;
        result
    }

    /// The line of the author that runs now, as `File "x.py", line 3, in forward`.
    fn source_line(&mut self) -> Option<String> {
        // A library function has lines of the library only; the caller's are of more use.
        for frame in self.frames.iter().rev() {
            if let Some(place) = self.sources.place(&frame.function.file, frame.at) {
                return Some(place.line.to_string());
            }
        }
        None
    }

    /// Adds where the model is to an error.
    fn located(&mut self, error: Error) -> Error {
        // Operators and variables do not say where they are.
        let is_vague = |place: &String| place.starts_with('`') || place.starts_with("the ");
        if error.place.first().is_some_and(|place| !is_vague(place)) {
            return error;
        }
        let place = self.running_place();
        let path = self.frames.last().and_then(|frame| frame.module.as_deref()).filter(|path| !path.is_empty());
        error.at(match path {
            Some(path) => format!("module `{path}`, {place}"),
            None => place,
        })
    }

    /// The function that runs: `Net.forward`.
    fn function_name(&self) -> String {
        let Some(frame) = self.frames.last() else { return String::new() };
        let name = readable(&frame.function.owner);
        match frame.class.as_ref() == Some(&frame.function.owner) || &*frame.function.tree.name == "forward" {
            true => format!("{name}.{}", frame.function.tree.name),
            false => name,
        }
    }

    /// Runs a method of the root module, and its hooks around it.
    pub fn call_root(
        &mut self,
        class: &Rc<ClassCode>,
        method: &Rc<FunctionCode>,
        root: &Item,
        mut args: Vec<(Name, Item)>,
        with_hooks: bool,
    ) -> Result<Item> {
        let hooks = |names: &[Name]| -> Vec<Rc<FunctionCode>> {
            names.iter().filter(|_| with_hooks).filter_map(|name| class.method(name)).collect()
        };
        for hook in hooks(&class.tree.pre_hooks) {
            let given = Item::tuple(args.iter().map(|(_, item)| item.clone()).collect());
            let result = self.call_function(&hook, Some(root.clone()), vec![given], Vec::new())?;
            let new = match &result.value {
                Value::None => continue,
                Value::Tuple(tuple) => tuple.items.clone(),
                _ => vec![result.clone()],
            };
            for ((_, old), new) in args.iter_mut().zip(new) {
                *old = new;
            }
        }
        let given = Item::tuple(args.iter().map(|(_, item)| item.clone()).collect());
        let mut result = self.call_function(method, Some(root.clone()), Vec::new(), args)?;
        for hook in hooks(&class.tree.hooks) {
            let new = self.call_function(&hook, Some(root.clone()), vec![given.clone(), result.clone()], Vec::new())?;
            if !matches!(new.value, Value::None) {
                result = new;
            }
        }
        Ok(result)
    }

    /// Runs the `__setstate__` of objects, in the order in which they were read.
    pub fn set_states(&mut self, states: Vec<(Cell, Item)>) -> Result<()> {
        for (cell, state) in states {
            let class = Rc::clone(&self.object(cell)?.class);
            let method = class.method("__setstate__");
            let method = method.ok_or_else(|| Error::internal("a class without `__setstate__`"))?;
            let this = Item::new(Value::Object(cell), super::types::Type::Class(Rc::clone(&class.name)));
            self.call_function(&method, Some(this), vec![state], Vec::new())?;
        }
        Ok(())
    }
}
