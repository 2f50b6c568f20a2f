//! The sizes at which a closure is traced: primes and one number with factors, so that an integer of a trace tells which size it comes from.

use tch::{Kind, Tensor};

use super::tracer::Run;
use aten2onnx_archive::zip::Archive;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_frontend_torchscript::Sizes;
use aten2onnx_options::Size;

/// Runs for each symbolic size: one in which it differs from the first run, and one in which all do.
const VALUES: usize = 3;
/// The least size of a run: smaller ones are often constants of a model too.
const LEAST: i64 = 5;

/// A dimension that is symbolic.
#[derive(Debug, Clone)]
pub(super) struct Dynamic {
    pub input: usize,
    pub dim: usize,
    pub name: String,
}

/// Refuses dimensions that no input has.
pub(super) fn check(dynamic: &[Dynamic], examples: &[Tensor]) -> Result<()> {
    for Dynamic { input, dim, name } in dynamic {
        let place = || format!("the size `{name}`");
        let Some(example) = examples.get(*input) else {
            let message = format!("there is no input {input}, only {}", examples.len());
            return Err(Error::unsupported(message).at(place()));
        };
        if *dim >= example.dim() {
            let message = format!("input {input} has no dimension {dim}, only {}", example.dim());
            return Err(Error::unsupported(message).at(place()));
        }
        if example.size().get(*dim) == Some(&0) {
            return Err(Error::unsupported("the example is empty there: give one with elements").at(place()));
        }
        let again = dynamic.iter().filter(|other| other.input == *input && other.dim == *dim).count();
        if again > 1 {
            return Err(Error::unsupported(format!("dimension {dim} of input {input} has two names")).at(place()));
        }
    }
    Ok(())
}

/// The sizes of an input, with the names of those that are symbolic.
pub(super) fn described(example: &Tensor, input: usize, dynamic: &[Dynamic]) -> Vec<Size> {
    let named = |dim: usize| dynamic.iter().find(|dynamic| dynamic.input == input && dynamic.dim == dim);
    let sizes = example.size().into_iter().enumerate();
    sizes.map(|(dim, size)| named(dim).map_or(Size::Known(size), |dynamic| Size::Named(dynamic.name.clone()))).collect()
}

/// Runs the closure with the examples, or at chosen sizes if some are symbolic.
pub(super) fn runs(
    examples: &[Tensor],
    dynamic: &[Dynamic],
    weights: &[(String, Tensor)],
    run: &mut dyn FnMut(Vec<Tensor>, Sizes) -> Result<(Archive, Run)>,
) -> Result<Vec<(Archive, Run)>> {
    let names = names(dynamic);
    if names.is_empty() {
        return Ok(vec![run(examples.iter().map(Tensor::shallow_clone).collect(), Sizes::new())?]);
    }
    let taken = taken(examples, dynamic, weights);
    let larger = chosen(examples, dynamic, &names, &|size| !taken.contains(&size), Way::Up);
    match all(examples, dynamic, &larger, run) {
        Ok(runs) => Ok(runs),
        // Some models take sizes only up to that of the example, such as that of a table of positions.
        Err(error) => {
            let smaller = chosen(examples, dynamic, &names, &|size| !taken.contains(&size), Way::Down);
            if smaller == larger { Err(error) } else { all(examples, dynamic, &smaller, run).map_err(|_| error) }
        }
    }
}

/// The names of symbolic sizes, each once.
fn names(dynamic: &[Dynamic]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for Dynamic { name, .. } in dynamic {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// Two primes, and then a number with factors: what is the same for all odd sizes shows there.
fn three(mut free: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut values: Vec<i64> = free.by_ref().filter(|size| is_prime(*size)).take(VALUES - 1).collect();
    values.extend(free.find(|size| size % 4 == 0));
    values
}

/// Sizes that are something else in this model.
fn taken(examples: &[Tensor], dynamic: &[Dynamic], weights: &[(String, Tensor)]) -> Vec<i64> {
    let is_dynamic = |input: usize, dim: usize| dynamic.iter().any(|d| d.input == input && d.dim == dim);
    let of_inputs = examples.iter().enumerate().flat_map(|(input, example)| {
        let sizes = example.size().into_iter().enumerate();
        sizes.filter(move |(dim, _)| !is_dynamic(input, *dim)).map(|(_, size)| size).collect::<Vec<i64>>()
    });
    of_inputs.chain(weights.iter().flat_map(|(_, tensor)| tensor.size())).collect()
}

#[derive(Clone, Copy)]
enum Way {
    Up,
    Down,
}

/// Values for each name: those of the first run, of that in which it alone differs, and of the last.
fn chosen(
    examples: &[Tensor],
    dynamic: &[Dynamic],
    names: &[String],
    is_free: &dyn Fn(i64) -> bool,
    way: Way,
) -> Vec<(String, Vec<i64>)> {
    let mut used: Vec<i64> = Vec::new();
    let mut found = Vec::new();
    for name in names {
        let sizes = dynamic.iter().filter(|dynamic| dynamic.name == *name);
        let sizes = sizes.filter_map(|d| examples.get(d.input).and_then(|example| example.size().get(d.dim).copied()));
        let example = sizes.max().unwrap_or(1);
        let up = example.max(LEAST)..;
        let down = (2..=example).rev();
        let fits = |size: &i64| is_free(*size) && !used.contains(size);
        let mut values: Vec<i64> = match way {
            Way::Up => three(up.filter(fits)),
            Way::Down => three(down.filter(fits)),
        };
        if values.len() < VALUES {
            values = three((example.max(LEAST)..).filter(fits));
        }
        used.extend(&values);
        found.push((name.clone(), values));
    }
    found
}

fn is_prime(number: i64) -> bool {
    number > 1 && (2..).take_while(|factor| factor * factor <= number).all(|factor| number % factor != 0)
}

/// The first run, one for each name in which it differs, and one in which all differ.
fn all(
    examples: &[Tensor],
    dynamic: &[Dynamic],
    values: &[(String, Vec<i64>)],
    run: &mut dyn FnMut(Vec<Tensor>, Sizes) -> Result<(Archive, Run)>,
) -> Result<Vec<(Archive, Run)>> {
    let sizes = |which: &dyn Fn(usize) -> usize| -> Sizes {
        let chosen = values.iter().enumerate();
        let chosen = chosen.filter_map(|(at, (name, values))| Some((name.clone(), *values.get(which(at))?)));
        chosen.collect()
    };
    let mut plans = vec![sizes(&|_| 0)];
    plans.extend((0..values.len()).map(|changed| sizes(&|at| usize::from(at == changed))));
    plans.push(sizes(&|_| VALUES - 1));
    plans.into_iter().map(|sizes| run(resized(examples, dynamic, &sizes), sizes)).collect()
}

/// The examples with other sizes: their elements again and again.
fn resized(examples: &[Tensor], dynamic: &[Dynamic], sizes: &Sizes) -> Vec<Tensor> {
    let mut inputs: Vec<Tensor> = examples.iter().map(Tensor::shallow_clone).collect();
    for Dynamic { input, dim, name } in dynamic {
        let Some((_, size)) = sizes.iter().find(|(known, _)| known == name) else { continue };
        let Some(tensor) = inputs.get_mut(*input) else { continue };
        let Some(have) = tensor.size().get(*dim).copied() else { continue };
        let places = Tensor::arange(*size, (Kind::Int64, tensor.device())).remainder(have);
        *tensor = tensor.index_select(i64::try_from(*dim).unwrap_or(0), &places);
    }
    inputs
}
