//! Examples: calls with descriptions of tensors.

use super::literal::Number;
use super::ty::Path;
use super::{Pair, Parts, Reader, Rule};
use crate::diagnostic::Diagnostic;
use crate::syntax::ast::{Example, ExampleArg, ExampleSize, ExampleTarget, ExampleValue, Ident};
use crate::syntax::lines;
use aten2onnx_schemas::nearest::nearest;

/// The element types of tensors in examples.
pub(crate) const ELEMENT_TYPES: &[&str] =
    &["f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool", "str", "c64", "c128"];

impl Reader<'_> {
    pub(super) fn example(&self, pair: Pair<'_>) -> Option<Example> {
        let mut parts = Parts::of(pair);
        let path = parts.one(Rule::path)?;
        let target = match parts.one(Rule::from_clause) {
            Some(from) => {
                let number = Parts::of(from).one(Rule::number)?;
                ExampleTarget::Raise(self.onnx_name(path)?, self.ident(&number), self.small_integer(&number))
            }
            None => match self.path(path)? {
                Path::Overload(op) => ExampleTarget::Map(op),
                Path::Onnx(name) => ExampleTarget::Lower(name),
            },
        };
        let args = Parts::of(parts.one(Rule::example_args)?).map(|arg| self.example_arg(arg)).collect::<Option<_>>()?;
        let with = match parts.one(Rule::with_clause) {
            Some(clause) => Parts::of(clause).map(|size| self.with_size(size)).collect::<Option<_>>()?,
            None => Vec::new(),
        };
        Some(Example { target, args, with })
    }

    fn with_size(&self, pair: Pair<'_>) -> Option<(Ident, i64)> {
        let mut parts = Parts::of(pair);
        let name = self.ident(&parts.one(Rule::word)?);
        Some((name, self.size(&parts.one(Rule::number)?)))
    }

    fn example_arg(&self, pair: Pair<'_>) -> Option<ExampleArg> {
        let span = self.span(&pair);
        let mut parts = Parts::of(pair);
        let name = parts.one(Rule::argument_name).map(|name| self.ident(&name));
        Some(ExampleArg { name, value: self.example_value(parts.one(Rule::example_value)?)?, span })
    }

    fn example_value(&self, pair: Pair<'_>) -> Option<ExampleValue> {
        let span = self.span(&pair);
        let mut parts = Parts::of(pair);
        let negative = parts.one(Rule::sign).is_some();
        let inner = parts.next()?;
        Some(match inner.as_rule() {
            Rule::number => match self.number(&inner) {
                Number::Int(value) => ExampleValue::Int(if negative { -value } else { value }),
                Number::Float(value) => ExampleValue::Float(if negative { -value } else { value }),
            },
            Rule::string => ExampleValue::Str(self.string(&inner)),
            Rule::closure => ExampleValue::Graph(Box::new(self.primary(inner)?)),
            Rule::example_list => {
                ExampleValue::List(Parts::of(inner).map(|value| self.example_value(value)).collect::<Option<_>>()?)
            }
            Rule::example_node => {
                let mut parts = Parts::of(inner);
                let op = self.ident(&parts.one(Rule::plain)?);
                let args = Parts::of(parts.one(Rule::example_args)?).map(|arg| self.example_arg(arg));
                ExampleValue::Node(op, args.collect::<Option<_>>()?)
            }
            Rule::tensor => self.tensor(inner)?,
            Rule::literal => self.literal(inner)?,
            _ => self.named_value(negative, inner.as_str()).unwrap_or_else(|| {
                self.error(Diagnostic::new("E0005", span, "only numbers and `INF` can be negative"));
                ExampleValue::None
            }),
        })
    }

    /// A constant or another name, which the checker looks up.
    fn named_value(&self, negative: bool, name: &str) -> Option<ExampleValue> {
        if let Some(value) = float_constant(name) {
            return Some(ExampleValue::Float(if negative { -value } else { value }));
        }
        if negative {
            return None;
        }
        Some(match name {
            "True" | "true" => ExampleValue::Bool(true),
            "False" | "false" => ExampleValue::Bool(false),
            "None" => ExampleValue::None,
            "INT64_MAX" => ExampleValue::Int(i64::MAX),
            "INT64_MIN" => ExampleValue::Int(i64::MIN),
            _ => ExampleValue::Name(name.to_owned()),
        })
    }

    /// `f32[2, n] in 0.1 .. 0.9`
    fn tensor(&self, pair: Pair<'_>) -> Option<ExampleValue> {
        let mut parts = Parts::of(pair);
        let dtype = self.element_type(&parts.one(Rule::element_type)?);
        let mut sizes = Vec::new();
        while let Some(size) = parts.one(Rule::size) {
            let inner = Parts::of(size).next()?;
            sizes.push(match inner.as_rule() {
                Rule::number => ExampleSize::Known(self.size(&inner)),
                _ => ExampleSize::Symbolic(inner.as_str().to_owned()),
            });
        }
        let range = match parts.one(Rule::value_range) {
            Some(range) => {
                let mut bounds = Parts::of(range);
                Some((self.bound(bounds.one(Rule::bound)?)?, self.bound(bounds.one(Rule::bound)?)?))
            }
            None => None,
        };
        Some(ExampleValue::Tensor { dtype, sizes, range })
    }

    /// `f32{{1, 2}, {3, 4}}`
    fn literal(&self, pair: Pair<'_>) -> Option<ExampleValue> {
        let mut parts = Parts::of(pair);
        let dtype = self.element_type(&parts.one(Rule::element_type)?);
        let mut sizes = Vec::new();
        let mut elements = Vec::new();
        self.elements(parts.one(Rule::elements)?, 0, &mut sizes, &mut elements)?;
        Some(ExampleValue::Literal { dtype, sizes, elements })
    }

    /// One level of braces. The first braces of a level determine its size.
    fn elements(&self, pair: Pair<'_>, level: usize, sizes: &mut Vec<i64>, out: &mut Vec<f64>) -> Option<()> {
        let span = self.span(&pair);
        let inside: Vec<_> = Parts::of(pair).filter_map(|element| Parts::of(element).next()).collect();
        let size = inside.len() as i64;
        let nested = inside.first().is_some_and(|first| first.as_rule() == Rule::elements);
        let even = match sizes.get(level) {
            Some(known) => *known == size && nested == (level + 1 < sizes.len()),
            None => {
                sizes.push(size);
                true
            }
        };
        if !even || inside.iter().any(|element| (element.as_rule() == Rule::elements) != nested) {
            let error = Diagnostic::new("E0005", span, "the tensor's rows have different lengths");
            self.error(error.note("all braces of one level must have the same number of elements"));
            return None;
        }
        for element in inside {
            match element.as_rule() {
                Rule::elements => self.elements(element, level + 1, sizes, out)?,
                _ => out.push(self.bound(element)?),
            }
        }
        Some(())
    }

    fn bound(&self, pair: Pair<'_>) -> Option<f64> {
        let span = self.span(&pair);
        let mut parts = Parts::of(pair);
        let negative = parts.one(Rule::sign).is_some();
        let inner = parts.next()?;
        let value = match inner.as_rule() {
            Rule::number => match self.number(&inner) {
                Number::Float(value) => Some(value),
                Number::Int(value) if i128::from(value) != value as f64 as i128 => {
                    self.error(Diagnostic::new("E0005", span, "this integer cannot be represented as a float64"));
                    Some(0.0)
                }
                Number::Int(value) => Some(value as f64),
            },
            _ => match inner.as_str() {
                "True" | "true" => Some(1.0),
                "False" | "false" => Some(0.0),
                name => float_constant(name),
            },
        };
        let Some(value) = value else {
            self.error(
                Diagnostic::new("E0005", span, "expected a number")
                    .note("`INF`, `NAN`, `True` and `False` are numbers here too"),
            );
            return None;
        };
        Some(if negative { -value } else { value })
    }

    fn size(&self, pair: &Pair<'_>) -> i64 {
        i64::from(self.small_integer(pair))
    }

    fn element_type(&self, pair: &Pair<'_>) -> String {
        let name = pair.as_str();
        if !ELEMENT_TYPES.contains(&name) && !name.starts_with('{') {
            let error = Diagnostic::new("E0005", self.span(pair), format!("unknown element type `{name}`"));
            self.error(match nearest(&shortened(name), ELEMENT_TYPES.iter().copied()) {
                Some(nearest) => error.label(format!("did you mean `{nearest}`?")),
                None => error.note(format!("the element types are {}", lines::one_of(ELEMENT_TYPES))),
            });
        }
        name.to_owned()
    }
}

/// PyTorch's name of a dtype in the notation of examples: `bfloat16` is `bf16`.
fn shortened(name: &str) -> String {
    let pairs = [("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c")];
    pairs.into_iter().fold(name.to_owned(), |name, (long, short)| name.replace(long, short))
}

/// The constants that are floats.
fn float_constant(name: &str) -> Option<f64> {
    match name {
        "INF" => Some(f64::INFINITY),
        "NAN" => Some(f64::NAN),
        "PI" => Some(std::f64::consts::PI),
        _ => None,
    }
}
