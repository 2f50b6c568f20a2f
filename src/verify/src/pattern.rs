//! What the tensors of an example have in common, for operators whose kernels do not check it: which tensors there are, their ranks, equal
//! sizes, and equal dtypes.

use aten2onnx_opmap::syntax::ast::ExampleValue;
use aten2onnx_opmap::tree::Example;

use super::edit::{dtype_of, size_of};

/// The tensors of an example.
#[derive(Debug, Clone)]
pub(super) struct Pattern(Vec<Shape>);

/// A tensor by the name of its argument, with its place if that is a list.
#[derive(Debug, Clone)]
struct Shape {
    argument: (String, usize),
    dtype: String,
    sizes: Vec<i64>,
}

impl Pattern {
    pub fn of(example: &Example) -> Pattern {
        Pattern(shapes(&example.args, &example.with))
    }

    /// Whether a call has the same tensors: of the same ranks and kinds of dtypes, with equal sizes and dtypes where the example has equal
    /// ones, and with sizes of 0 and 1 where it has these.
    pub fn fits(&self, args: &[(String, ExampleValue)], with: &[(String, i64)]) -> bool {
        let call = shapes(args, with);
        let same = |(own, other): (&Shape, &Shape)| {
            own.argument == other.argument
                && own.sizes.len() == other.sizes.len()
                && kind(&own.dtype) == kind(&other.dtype)
        };
        if call.len() != self.0.len() || !self.0.iter().zip(&call).all(same) {
            return false;
        }
        let dtypes = self.0.iter().zip(&call).map(|(own, other)| (own.dtype.as_str(), other.dtype.as_str()));
        let pairs = self.0.iter().zip(&call).flat_map(|(own, other)| own.sizes.iter().zip(&other.sizes));
        let sizes: Vec<(i64, i64)> = pairs.map(|(own, other)| (*own, *other)).collect();
        is_function(&dtypes.collect::<Vec<_>>())
            && is_function(&sizes)
            && sizes.iter().all(|(own, other)| if *own < 2 { own == other } else { *other > 0 })
    }
}

/// Whether equal first parts have equal second parts.
fn is_function<T: PartialEq>(pairs: &[(T, T)]) -> bool {
    pairs.iter().enumerate().all(|(i, (own, other))| pairs.iter().skip(i).all(|(o, t)| o != own || t == other))
}

fn shapes(args: &[(String, ExampleValue)], with: &[(String, i64)]) -> Vec<Shape> {
    let mut found = Vec::new();
    for (name, value) in args {
        let items = if let ExampleValue::List(items) = value { items.as_slice() } else { std::slice::from_ref(value) };
        for (place, item) in items.iter().enumerate() {
            let Some(dtype) = dtype_of(item) else { continue };
            let sizes = match item {
                ExampleValue::Tensor { sizes, .. } => sizes.iter().map(|size| size_of(size, with)).collect(),
                ExampleValue::Literal { sizes, .. } => sizes.clone(),
                _ => Vec::new(),
            };
            found.push(Shape { argument: (name.clone(), place), dtype: dtype.clone(), sizes });
        }
    }
    found
}

/// Floats stay floats, and integers integers.
fn kind(dtype: &str) -> char {
    match dtype {
        "bool" => 'o',
        "bf16" => 'f',
        dtype => dtype.chars().next().unwrap_or_default(),
    }
}
