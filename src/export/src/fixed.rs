//! Makes symbolic sizes of a program numbers: `--dim s77=1` and `--static`; or one symbol of several, which a user gives the same name:
//! `--dim s52=batch --dim s97=batch`. What follows from them is folded by the rules.

use aten2onnx_core::axes::counted_from_start;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;

use super::naming::no_such_symbol;
use aten2onnx_options::{DimName, Options, WhichDim};
use aten2onnx_program::{Guard, Input, InputKind, Program, visit};

/// Replaces the symbols that the user fixed in a program's sizes.
///
/// # Errors
/// An unknown symbol, input or axis; a number out of the bounds that the program was exported with; or no example of a size.
pub(super) fn fix(program: &mut Program, options: &Options) -> Result<()> {
    let known = symbols(program);
    let mut chosen: BTreeMap<String, i64> = BTreeMap::new();
    for dim in &options.dims {
        let Some(size) = dim.size() else { continue };
        let symbols = match &dim.which {
            WhichDim::Symbol(name) => named(name, &options.dims, &known)?,
            WhichDim::Axis(input, axis) => match size_of(program, input, *axis)? {
                given if given.known() == Some(size) => continue,
                given => vec![given.as_symbol().map(str::to_owned).ok_or_else(|| {
                    Error::unsupported(format!(
                        "axis {axis} of the input `{input}` is not a single symbol: it is {given}"
                    ))
                })?],
            },
        };
        for symbol in symbols {
            if chosen.insert(symbol.clone(), size).is_some_and(|before| before != size) {
                return Err(Error::unsupported(format!("two sizes are given for the dimension `{symbol}`")));
            }
        }
    }
    if options.fixed {
        check_names(program, &known, &options.dims, &chosen)?;
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

/// Checks that no dimension gets a name that `--static` makes a number.
fn check_names(
    program: &Program,
    known: &BTreeSet<String>,
    dims: &[DimName],
    chosen: &BTreeMap<String, i64>,
) -> Result<()> {
    for dim in dims.iter().filter(|dim| dim.size().is_none()) {
        let symbol = match &dim.which {
            WhichDim::Symbol(symbol) => symbol.clone(),
            WhichDim::Axis(input, axis) => size_of(program, input, *axis)?.to_string(),
        };
        if known.contains(&symbol) && !chosen.contains_key(&symbol) {
            let (which, name) = (&dim.which, &dim.name);
            let error = Error::unsupported(format!("`--static` makes all sizes numbers, so `{which}` cannot be named"));
            return Err(error.help(format!("leave out `--static` or `--dim {which}={name}`")));
        }
    }
    Ok(())
}

/// Makes one symbol of those that the user gives the same name. Returns the names that are left.
///
/// # Errors
/// An unknown input or axis, or symbols that cannot be equal.
pub(super) fn unite(program: &mut Program, options: &Options) -> Result<Vec<DimName>> {
    let known = symbols(program);
    let mut of: Vec<Option<String>> = Vec::with_capacity(options.dims.len());
    for dim in &options.dims {
        let symbol = match &dim.which {
            WhichDim::Symbol(symbol) => Some(symbol.clone()).filter(|symbol| known.contains(symbol)),
            WhichDim::Axis(input, axis) => size_of(program, input, *axis)?.as_symbol().map(str::to_owned),
        };
        of.push(symbol.filter(|_| dim.size().is_none()));
    }
    let named =
        || options.dims.iter().zip(&of).filter_map(|(dim, symbol)| Some((dim.name.as_str(), symbol.as_deref()?)));
    let is_renamed = |symbol: &str| options.dims.iter().zip(&of).any(|(dim, of)| is_about(dim, of.as_deref(), symbol));
    let mut kept: BTreeMap<&str, &str> = BTreeMap::new();
    // A name may be a symbol that has no other name: `s52=s97`.
    kept.extend(known.iter().filter(|symbol| !is_renamed(symbol)).map(|symbol| (symbol.as_str(), symbol.as_str())));
    let mut replaced: HashMap<String, SymInt> = HashMap::new();
    for (name, symbol) in named() {
        match kept.get(name) {
            None => _ = kept.insert(name, symbol),
            Some(first) if *first == symbol => {}
            Some(first) => {
                agree(program, first, symbol)?;
                program.notes.push(format!("`{symbol}` and `{first}` are one dimension: both are named `{name}`"));
                replaced.insert(symbol.to_owned(), SymInt::symbol(*first));
            }
        }
    }
    let is_left = |dim: &DimName, symbol: Option<&str>| match (&dim.which, symbol) {
        (_, Some(symbol)) => !replaced.contains_key(symbol) && dim.name != symbol,
        _ => true,
    };
    let left = options.dims.iter().zip(&of).filter(|(dim, symbol)| is_left(dim, symbol.as_deref()));
    let left = left.map(|(dim, _)| dim.clone()).collect();
    replace(program, &replaced)?;
    Ok(left)
}

/// Whether an option gives this symbol a name or a number.
fn is_about(dim: &DimName, symbol: Option<&str>, wanted: &str) -> bool {
    symbol == Some(wanted) && dim.name != wanted || dim.size().is_some() && dim.which.symbol() == Some(wanted)
}

/// Checks that two symbols may be equal, and limits the first to what both may be.
fn agree(program: &mut Program, first: &str, other: &str) -> Result<()> {
    if let (Some(a), Some(b)) = (program.hints.get(first), program.hints.get(other))
        && a != b
    {
        let what = format!(
            "one name is given for two dimensions that differ in the example: `{first}` is {a} and `{other}` is {b}"
        );
        return Err(Error::unsupported(what).help("give them different names"));
    }
    let range = |symbol: &str| program.ranges.get(symbol).copied().unwrap_or_default();
    let ((low, high), (other_low, other_high)) = (range(first), range(other));
    let both = (low.max(other_low), [high, other_high].into_iter().flatten().min());
    if let (Some(min), Some(max)) = both
        && min > max
    {
        let what = format!("one name is given for two dimensions that are never equal: `{first}` and `{other}`");
        return Err(Error::unsupported(what).help("give them different names"));
    }
    program.ranges.insert(first.to_owned(), both);
    Ok(())
}

/// The symbols that a name stands for: itself, or those that other options name so.
fn named(name: &str, dims: &[DimName], known: &BTreeSet<String>) -> Result<Vec<String>> {
    if known.contains(name) {
        return Ok(vec![name.to_owned()]);
    }
    let renamed = dims.iter().filter_map(|dim| match &dim.which {
        WhichDim::Symbol(symbol) if dim.name == name && known.contains(symbol) => Some(symbol.clone()),
        _ => None,
    });
    let renamed: Vec<String> = renamed.collect();
    if renamed.is_empty() { Err(no_such_symbol(name, known)) } else { Ok(renamed) }
}

fn size_of(program: &Program, input: &str, axis: i64) -> Result<SymInt> {
    let tensor = program.graph.inputs.iter().find(|known| known.name == input);
    let Some(tensor) = tensor.and_then(|known| program.graph.tensors.get(&known.name)) else {
        let known: Vec<String> = program.graph.inputs.iter().map(|input| format!("`{}`", input.name)).collect();
        return Err(Error::unsupported(format!("the model has no tensor input `{input}`"))
            .help(format!("the model has {}", known.join(", "))));
    };
    let size = counted_from_start(axis, tensor.sizes.len()).and_then(|index| tensor.sizes.get(index));
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

/// The symbols of each input, by the name of the input.
pub(super) fn symbols_of_inputs(program: &Program) -> HashMap<String, BTreeSet<String>> {
    let of = |name: &String| {
        let sizes = program.graph.tensors.get(name).map(|tensor| tensor.sizes.as_slice());
        let number = program.graph.sym_ints.get(name).map(std::slice::from_ref);
        // Conditions on an integer may mention its name.
        sizes.or(number).unwrap_or_default().iter().flat_map(SymInt::symbols).chain([name.clone()]).collect()
    };
    program.graph.inputs.iter().map(|input| (input.name.clone(), of(&input.name))).collect()
}

/// The inputs that are integers, with their values in symbols.
pub(super) fn numbers(program: &Program) -> impl Iterator<Item = (&Input, &SymInt)> {
    let inputs = program.graph.inputs.iter().filter(|input| matches!(input.kind, InputKind::SymInt));
    inputs.filter_map(|input| Some((input, program.graph.sym_ints.get(&input.name)?)))
}

/// Whether the value of an input that is an integer is a symbol that no size and no input before it has: else the input has to be equal to it.
pub(super) fn is_own(program: &Program, name: &str, value: &SymInt) -> bool {
    let mut sizes =
        program.graph.inputs.iter().filter_map(|input| program.graph.tensors.get(&input.name)).flat_map(|t| &t.sizes);
    let first = numbers(program).find(|(_, other)| *other == value).is_some_and(|(input, _)| input.name == name);
    value.as_symbol().is_some() && first && !sizes.any(|size| size == value)
}

/// The names that options give to symbols.
pub(super) fn names(program: &Program, dims: &[DimName]) -> HashMap<String, SymInt> {
    // A number that is an input has its name.
    let number = |(input, value): (&Input, &SymInt)| {
        let symbol = value.as_symbol().filter(|_| is_own(program, &input.name, value))?;
        Some((symbol.to_owned(), SymInt::symbol(input.name.as_str())))
    };
    let mut names: HashMap<String, SymInt> = numbers(program).filter_map(number).collect();
    let named = |dim: &DimName| Some((symbol_of(program, dim)?, SymInt::symbol(dim.name.as_str())));
    names.extend(dims.iter().filter(|dim| dim.size().is_none()).filter_map(named));
    names
}

/// Makes numbers of symbols, and leaves out the options that name them.
pub(super) fn pin(program: &mut Program, dims: &mut Vec<DimName>, sizes: &HashMap<String, SymInt>) -> Result<()> {
    dims.retain(|dim| symbol_of(program, dim).is_none_or(|symbol| !sizes.contains_key(&symbol)));
    replace(program, sizes)
}

fn symbol_of(program: &Program, dim: &DimName) -> Option<String> {
    match &dim.which {
        WhichDim::Symbol(symbol) => Some(symbol.clone()),
        WhichDim::Axis(input, axis) => size_of(program, input, *axis).ok()?.as_symbol().map(str::to_owned),
    }
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
    for guard in &mut program.guards {
        if let Guard::Sizes(condition) = guard {
            *condition = condition.substitute(sizes);
        }
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use aten2onnx_core::dtype::Dtype;
    use aten2onnx_program::{Graph, TensorMeta};

    /// Two inputs with the first sizes s0 and s1, and a tensor of both sizes.
    fn program() -> Program {
        let (s0, s1) = (SymInt::symbol("s0"), SymInt::symbol("s1"));
        let of = |size: &SymInt| TensorMeta {
            dtype: Dtype::Float32,
            sizes: vec![size.clone(), SymInt::from(3)],
            strides: Vec::new(),
            storage_offset: SymInt::from(0),
        };
        let sizes = [("a", s0.clone()), ("b", s1.clone()), ("both", &s0 + &s1)];
        let tensors = sizes.iter().map(|(name, size)| ((*name).to_owned(), of(size))).collect();
        let inputs = ["a", "b"].map(|name| Input { name: name.to_owned(), kind: InputKind::Tensor }).into();
        let ranges = [("s0", (Some(2), None)), ("s1", (Some(4), Some(8)))];
        Program {
            graph: Graph { inputs, tensors, ..Graph::default() },
            ranges: ranges.map(|(symbol, range)| (symbol.to_owned(), range)).into_iter().collect(),
            ..Program::default()
        }
    }

    fn united(program: &mut Program, choices: &[&str]) -> Result<Vec<String>> {
        let dims = choices.iter().map(|text| text.parse().unwrap()).collect();
        let mut options = Options::default();
        options.dims = dims;
        let left = unite(program, &options)?;
        Ok(left.into_iter().map(|dim| format!("{}={}", dim.which, dim.name)).collect())
    }

    fn size(program: &Program, name: &str) -> String {
        program.graph.tensors[name].sizes[0].to_string()
    }

    #[test]
    fn dimensions_of_the_same_name_are_one() {
        for choices in [&["s0=batch", "s1=batch"], &["a:0=batch", "b:0=batch"], &["s0=batch", "b:0=batch"]] {
            let mut program = program();
            assert_eq!(united(&mut program, choices).unwrap(), choices[..1], "{choices:?}");
            assert_eq!([size(&program, "b"), size(&program, "both")], ["s0", "2*s0"]);
            assert_eq!(program.ranges["s0"], (Some(4), Some(8)));
            assert_eq!(program.notes, ["`s1` and `s0` are one dimension: both are named `batch`"]);
        }
        let mut program = program();
        assert!(united(&mut program, &["s1=s0"]).unwrap().is_empty());
        assert_eq!(size(&program, "both"), "2*s0");
    }

    #[test]
    fn other_names_change_nothing() {
        for choices in [&["s0=n", "s1=m"], &["s0=s1", "s1=s0"], &["s0=n", "a:0=n"]] {
            let mut program = program();
            assert_eq!(united(&mut program, choices).unwrap(), choices[..], "{choices:?}");
            assert_eq!(size(&program, "both"), "s0 + s1");
        }
    }

    #[test]
    fn dimensions_that_differ_have_different_names() {
        let mut program = program();
        program.hints.extend([("s0".to_owned(), 2), ("s1".to_owned(), 5)]);
        let error = united(&mut program, &["s0=n", "s1=n"]).unwrap_err();
        assert!(error.message.contains("differ in the example: `s0` is 2 and `s1` is 5"), "{error}");
        program.hints.clear();
        program.ranges.insert("s0".to_owned(), (Some(9), None));
        assert!(united(&mut program, &["s0=n", "s1=n"]).unwrap_err().message.contains("never equal"));
    }
}
