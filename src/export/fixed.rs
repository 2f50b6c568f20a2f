//! Makes symbolic sizes of a program numbers: `--dim s77=1` and `--static`. What follows from them is folded by the rules.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;

use super::naming::no_such_symbol;
use crate::options::{DimName, Options, WhichDim};
use crate::program::{Program, visit};

/// Replaces the symbols that the user fixed in a program's sizes.
///
/// # Errors
/// An unknown symbol, input or axis; a number out of the bounds that the program was exported with; or no example of a size.
pub(super) fn fix(program: &mut Program, options: &Options) -> Result<()> {
    let known = symbols(program);
    let mut chosen: BTreeMap<String, i64> = BTreeMap::new();
    for dim in &options.dims {
        let Some(size) = dim.size() else { continue };
        let symbol = match &dim.which {
            WhichDim::Symbol(name) => named(name, &options.dims, &known)?,
            WhichDim::Axis(input, axis) => match size_of(program, input, *axis)? {
                given if given.known() == Some(size) => continue,
                given => given.as_symbol().map(str::to_owned).ok_or_else(|| {
                    Error::unsupported(format!(
                        "axis {axis} of the input `{input}` is not a single symbol: it is {given}"
                    ))
                })?,
            },
        };
        if chosen.insert(symbol.clone(), size).is_some_and(|before| before != size) {
            return Err(Error::unsupported(format!("two sizes are given for the dimension `{symbol}`")));
        }
    }
    if options.fixed {
        for symbol in &known {
            let Some(size) = chosen.get(symbol).or_else(|| program.hints.get(symbol)) else {
                let error = Error::unsupported(format!("the file has no example of the size `{symbol}`"));
                return Err(error.help(format!("give it: `--dim {symbol}=1`")));
            };
            chosen.insert(symbol.clone(), *size);
        }
    }
    for (symbol, size) in &chosen {
        check(program, symbol, *size)?;
    }
    let sizes = chosen.into_iter().map(|(symbol, size)| (symbol, SymInt::from(size))).collect();
    replace(program, &sizes)
}

/// The symbol that a name stands for: itself, or what another option names so.
fn named(name: &str, dims: &[DimName], known: &BTreeSet<String>) -> Result<String> {
    if known.contains(name) {
        return Ok(name.to_owned());
    }
    let renamed = dims.iter().find_map(|dim| match &dim.which {
        WhichDim::Symbol(symbol) if dim.name == name && known.contains(symbol) => Some(symbol.clone()),
        _ => None,
    });
    renamed.ok_or_else(|| no_such_symbol(name, known))
}

fn size_of(program: &Program, input: &str, axis: i64) -> Result<SymInt> {
    let tensor = program.graph.inputs.iter().find(|known| known.name == input);
    let Some(tensor) = tensor.and_then(|known| program.graph.tensors.get(&known.name)) else {
        let known: Vec<String> = program.graph.inputs.iter().map(|input| format!("`{}`", input.name)).collect();
        return Err(Error::unsupported(format!("the model has no tensor input `{input}`"))
            .help(format!("the model has {}", known.join(", "))));
    };
    let rank = i64::try_from(tensor.sizes.len()).unwrap_or(i64::MAX);
    let index = usize::try_from(if axis < 0 { axis.saturating_add(rank) } else { axis }).ok();
    let size = index.and_then(|index| tensor.sizes.get(index));
    size.cloned().ok_or_else(|| Error::unsupported(format!("the input `{input}` has no axis {axis}")))
}

/// The named symbols in the sizes of inputs.
pub(super) fn symbols(program: &Program) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for input in &program.graph.inputs {
        let sizes = program.graph.tensors.get(&input.name).map(|tensor| tensor.sizes.as_slice());
        let number = program.graph.sym_ints.get(&input.name).map(std::slice::from_ref);
        for size in sizes.or(number).unwrap_or_default() {
            all.extend(size.symbols().into_iter().filter(|symbol| !symbol.starts_with('?')));
        }
    }
    all
}

/// Symbols are at least 2 in torch.export, because it treats 0 and 1 as special. Models with such a size are run at 1 all the same.
fn check(program: &Program, symbol: &str, size: i64) -> Result<()> {
    let (min, max) = program.ranges.get(symbol).copied().unwrap_or_default();
    let least = min.map_or(0, |min| if min == 2 { 1 } else { min.max(0) });
    if size >= least && max.is_none_or(|max| size <= max) {
        return Ok(());
    }
    let most = max.map_or("any number".to_owned(), |max| max.to_string());
    Err(Error::unsupported(format!("`{symbol}` cannot be {size}: the model was exported for {least} to {most}")))
}

fn replace(program: &mut Program, sizes: &HashMap<String, SymInt>) -> Result<()> {
    if sizes.is_empty() {
        return Ok(());
    }
    let mut negative = None;
    visit::each_graph_mut(&mut program.graph, &mut |graph| {
        for (name, tensor) in &mut graph.tensors {
            let all = tensor.sizes.iter_mut().chain(&mut tensor.strides).chain([&mut tensor.storage_offset]);
            all.for_each(|size| *size = size.substitute(sizes));
            if tensor.sizes.iter().any(|size| size.known().is_some_and(|size| size < 0)) {
                negative.get_or_insert_with(|| name.clone());
            }
        }
        graph.sym_ints.values_mut().for_each(|size| *size = size.substitute(sizes));
    });
    match negative {
        Some(name) => Err(Error::unsupported(format!("with these sizes, a size of `{name}` is negative"))),
        None => Ok(()),
    }
}
