//! Instantiates the calls in operator facts ([`aten2onnx_rules::effects`]) with the arguments of a node.

use rustc_hash::FxHashMap;

use aten2onnx_core::axes::counted_from_start;
use aten2onnx_program::{Arg, IntArg, Node, NodeOutput, TensorMeta};
use aten2onnx_rules::effects::{FactCall, Literal, Term};

/// More than the dimensions of any tensor.
const MAX_RANGE: i64 = 1 << 10;

/// The context in which terms are evaluated.
#[derive(Debug)]
pub struct Given<'a> {
    /// The node whose arguments are referenced.
    pub node: &'a Node,
    /// The recorded tensors.
    pub tensors: &'a FxHashMap<String, TensorMeta>,
    /// The current name of the node's first tensor, if it differs.
    pub first: Option<&'a str>,
    /// For a view: its current name, and the index of the node's result.
    pub view: Option<(&'a str, usize)>,
    /// The sizes of the parts into which the node splits its tensor.
    pub sizes: Option<Arg>,
}

/// A call of an operator whose arguments may be calls.
#[derive(Debug)]
pub struct NewCall {
    /// The overload.
    pub target: &'static str,
    /// Its arguments by name.
    pub args: Vec<(&'static str, NewArg)>,
}

/// An argument of a new call.
#[derive(Debug)]
pub enum NewArg {
    /// An existing value.
    Arg(Arg),
    /// The result of a call.
    Call(NewCall),
}

impl NewCall {
    /// A call with existing values.
    pub fn of(target: &'static str, args: Vec<(&'static str, Arg)>) -> NewCall {
        NewCall { target, args: args.into_iter().map(|(name, arg)| (name, NewArg::Arg(arg))).collect() }
    }

    /// The operator and arguments of a call without nested calls.
    pub fn plain(self) -> Option<(&'static str, Vec<(String, Arg)>)> {
        let args = self.args.into_iter().map(|(name, arg)| match arg {
            NewArg::Arg(arg) => Some((name.to_owned(), arg)),
            NewArg::Call(_) => None,
        });
        Some((self.target, args.collect::<Option<_>>()?))
    }
}

impl Given<'_> {
    /// Instantiates a call; None if it needs something unknown.
    pub fn call(&self, call: &FactCall) -> Option<NewCall> {
        let mut args = Vec::with_capacity(call.args.len());
        for (name, term) in call.args {
            match term {
                Term::Call(inner) => args.push((*name, NewArg::Call(self.call(inner)?))),
                // An omitted argument has the same default in the new operator.
                Term::Argument(own, None) if !self.has(own) => {}
                term => args.push((*name, NewArg::Arg(self.value(term)?))),
            }
        }
        Some(NewCall { target: call.target, args })
    }

    fn has(&self, name: &str) -> bool {
        self.node.args.iter().any(|(arg, _)| arg == name)
    }

    /// The value of a term that is not a call.
    pub fn value(&self, term: &Term) -> Option<Arg> {
        Some(match term {
            Term::Argument(name, default) => self.argument(name, *default)?,
            Term::New => Arg::Tensor(self.view?.0.to_owned()),
            Term::Position => Arg::Int(i64::try_from(self.view?.1).ok()?),
            Term::Start => Arg::Int(self.part()?.0),
            Term::End => Arg::Int(self.part()?.1),
            Term::Sizes => self.sizes.clone()?,
            Term::Literal(literal) => constant(*literal),
            Term::List(terms) => Arg::Ints(terms.iter().map(|term| self.int_arg(term)).collect::<Option<_>>()?),
            Term::Sum([a, b]) => {
                let (a, b) = (self.natural(a)?, self.natural(b)?);
                Arg::Int(a.checked_add(b)?)
            }
            Term::Inverse(dims) => Arg::Ints(inverse_permutation(&known(&self.value(dims)?)?)?),
            Term::Dtype(tensor) => Arg::Dtype(self.meta(tensor)?.dtype),
            Term::Rank(tensor) => Arg::Int(i64::try_from(self.meta(tensor)?.sizes.len()).ok()?),
            Term::Range([from, to]) => {
                let (from, to) = (self.natural(from)?, self.natural(to)?);
                Arg::Ints((from..to.min(from.checked_add(MAX_RANGE)?)).map(IntArg::Known).collect())
            }
            Term::Call(_) => return None,
        })
    }

    fn argument(&self, name: &str, default: Option<Literal>) -> Option<Arg> {
        let Some(at) = self.node.args.iter().position(|(arg, _)| arg == name) else { return default.map(constant) };
        match self.first {
            Some(first) if first_tensor_arg(self.node) == Some(at) => Some(Arg::Tensor(first.to_owned())),
            _ => self.node.args.get(at).map(|(_, arg)| arg.clone()),
        }
    }

    fn int_arg(&self, term: &Term) -> Option<IntArg> {
        match self.value(term)? {
            Arg::Int(number) => Some(IntArg::Known(number)),
            Arg::Sym(name) => Some(IntArg::Named(name)),
            _ => None,
        }
    }

    /// A known nonnegative integer; a negative one would count from the end.
    fn natural(&self, term: &Term) -> Option<i64> {
        match self.value(term)? {
            Arg::Int(number) => Some(number).filter(|number| *number >= 0),
            _ => None,
        }
    }

    fn meta(&self, tensor: &Term) -> Option<&TensorMeta> {
        match self.value(tensor)? {
            Arg::Tensor(name) => self.tensors.get(&name),
            _ => None,
        }
    }

    /// The start and end of the view among the parts into which the node splits the dimension `dim`.
    fn part(&self) -> Option<(i64, i64)> {
        let (_, index) = self.view?;
        let dim = int(self.node, "dim").unwrap_or(0);
        let names = match self.node.outputs.first()? {
            NodeOutput::Tensors(names) => names,
            _ => return None,
        };
        let mut start = 0_i64;
        for (at, name) in names.iter().enumerate() {
            let sizes = &self.tensors.get(name)?.sizes;
            let length = sizes.get(counted_from_start(dim, sizes.len())?)?.known()?;
            let end = start.checked_add(length)?;
            if at == index {
                return Some((start, end));
            }
            start = end;
        }
        None
    }
}

fn constant(literal: Literal) -> Arg {
    match literal {
        Literal::None => Arg::None,
        Literal::Bool(flag) => Arg::Bool(flag),
        Literal::Int(number) => Arg::Int(number),
        Literal::Float(number) => Arg::Float(number),
    }
}

fn known(arg: &Arg) -> Option<Vec<i64>> {
    let Arg::Ints(numbers) = arg else { return None };
    let known = numbers.iter().map(|number| match number {
        IntArg::Known(number) => Some(*number),
        IntArg::Named(_) => None,
    });
    known.collect()
}

fn inverse_permutation(dims: &[i64]) -> Option<Vec<IntArg>> {
    let mut inverse = vec![IntArg::Known(0); dims.len()];
    for (at, dim) in dims.iter().enumerate() {
        *inverse.get_mut(counted_from_start(*dim, dims.len())?)? = IntArg::Known(i64::try_from(at).ok()?);
    }
    Some(inverse)
}

/// The position of the first tensor argument.
pub fn first_tensor_arg(node: &Node) -> Option<usize> {
    node.args.iter().position(|(_, arg)| matches!(arg, Arg::Tensor(_)))
}

/// The first tensor argument.
pub fn first_tensor(node: &Node) -> Option<&str> {
    match node.args.get(first_tensor_arg(node)?) {
        Some((_, Arg::Tensor(name))) => Some(name),
        _ => None,
    }
}

/// A known integer argument.
pub fn int(node: &Node, name: &str) -> Option<i64> {
    node.args.iter().find_map(|(arg, value)| match value {
        Arg::Int(number) if arg == name => Some(*number),
        _ => None,
    })
}

/// A boolean argument.
pub fn flag(node: &Node, name: &str) -> Option<bool> {
    node.args.iter().find_map(|(arg, value)| match value {
        Arg::Bool(flag) if arg == name => Some(*flag),
        _ => None,
    })
}
