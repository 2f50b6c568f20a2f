//! `torch.onnx.ops.symbolic`: nodes of ONNX that a model of PyTorch writes itself.
//!
//! An operator of ONNX's own domain is checked against its schema, in the version that the call names, and said as the target says
//! it. One of another domain stays as it is. Dtypes and shapes are what the call states.

use super::Translation;
use crate::program::{Graph, Node};
use aten2onnx_builder::{Args, Builder, In, SourceNode};
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::graph::{Attr, Origin, Type, Value, intern};
use aten2onnx_onnx::schema::{self, AttrKind, Version};

const TARGETS: [&str; 2] = ["onnx_symbolic::_symbolic", "onnx_symbolic::_symbolic_multi_out"];

/// Does a node of the program stand for one of ONNX?
pub(super) fn is_symbolic(target: &str) -> bool {
    TARGETS.contains(&target)
}

impl Translation<'_> {
    /// The ONNX node that a node of the program stands for.
    pub(super) fn symbolic(&mut self, node: &Node, graph: &Graph) -> Result<()> {
        let args = self.arguments(node)?;
        let (keys, values) =
            (strs(&args, self.builder, "metadata_props_keys")?, strs(&args, self.builder, "metadata_props_values")?);
        self.builder.set_origin(Origin { metadata: keys.into_iter().zip(values).collect(), ..super::origin(node) });
        if args.has_complex(self.builder) {
            return Err(Error::unsupported("complex numbers, which ONNX's nodes do not take"));
        }
        let cx = &mut *self.builder;
        let (op, domain) = (args.str(cx, "op_type")?, args.opt_str(cx, "domain")?.unwrap_or_default());
        let version = args.opt_int(cx, "version")?.map(u32::try_from).transpose();
        let version = version.map_err(|_| Error::input("a version below 0"))?;
        let inputs = args.optional_tensors(cx, "inputs")?;
        let attrs = attributes(&args, cx)?;
        let types = self.stated(node, graph)?;
        let values = match domain.as_str() {
            "" | "ai.onnx" => {
                let declared = types.into_iter().map(|(dtype, shape)| Some(Type::tensor(dtype, shape))).collect();
                let call =
                    SourceNode { op: intern(&op), name: String::new(), known: inputs.clone(), inputs, attrs, declared };
                self.of_schema(call, version)?
            }
            domain => {
                let inputs = inputs.into_iter().map(|input| input.map_or(In::None, In::Value)).collect();
                self.builder.foreign(intern(&format!("{domain}::{op}")), version.unwrap_or(1), inputs, attrs, types)?
            }
        };
        self.bind_values(node, values, graph)
    }

    /// A call of an operator of ONNX's own, in the form of a version, or else of the target.
    fn of_schema(&mut self, mut call: SourceNode, version: Option<u32>) -> Result<Vec<Value>> {
        let op = call.op;
        let schema = schema::find(op).ok_or_else(|| Error::input(format!("ONNX has no operator `{op}`")))?;
        let opset = version.unwrap_or(self.builder.opset().try_into().unwrap_or(u32::MAX));
        let Some(form) = schema.at(opset) else {
            let since = schema.versions.first().map_or(0, |version| version.since);
            let error = Error::input(format!("ONNX has no `{op}` at opset {opset}: it came with {since}"));
            return Err(error.help(format!("name the version that the call is written for: `version={since}`")));
        };
        for (name, attr) in &mut call.attrs {
            fit(form, op, name, attr)?;
        }
        self.builder.convert(&call, schema, form)
    }
}

/// Brings an attribute to the type that its schema states; whole numbers are floats where floats are wanted.
fn fit(form: &Version, op: &str, name: &str, attr: &mut Attr) -> Result<()> {
    // A name that is unknown is told of with the node.
    let Some(attribute) = form.attribute(name) else { return Ok(()) };
    match (attribute.kind, &*attr) {
        (AttrKind::Float, Attr::Int(n)) => *attr = Attr::Float(*n as f64),
        (AttrKind::Floats, Attr::Ints(ns)) => *attr = Attr::Floats(ns.iter().map(|n| *n as f64).collect()),
        (AttrKind::Int, Attr::Int(_))
        | (AttrKind::Ints, Attr::Ints(_))
        | (AttrKind::Float, Attr::Float(_))
        | (AttrKind::Floats, Attr::Floats(_))
        | (AttrKind::String, Attr::Str(_))
        | (AttrKind::Strings, Attr::Strs(_)) => {}
        (kind, _) => {
            let text = format!("the attribute `{name}` of `{op}` is of the type {kind:?}, another one is given");
            return Err(Error::input(text));
        }
    }
    Ok(())
}

/// The attributes, which the call holds as lists by type: `attr_pos` are the pairs of start and end in them.
fn attributes(args: &Args, cx: &mut Builder) -> Result<Vec<(&'static str, Attr)>> {
    let (keys, types) = (strs(args, cx, "attr_keys")?, strs(args, cx, "attr_types")?);
    let places = args.int_lists("attr_pos")?;
    let ints = args.opt_ints(cx, "attr_ints", None)?.unwrap_or_default();
    let floats = args.opt_floats(cx, "attr_floats", None)?.unwrap_or_default();
    let texts = strs(args, cx, "attr_strs")?;
    if keys.len() != types.len() || keys.len() != places.len() {
        return Err(Error::input("there are not as many names of attributes as types and places"));
    }
    let mut attrs = Vec::with_capacity(keys.len());
    for ((key, ty), place) in keys.iter().zip(&types).zip(&places) {
        let attr = match ty.as_str() {
            "i" => slice(&ints, place).and_then(|xs| xs.first()).map(|x| Attr::Int(*x)),
            "f" => slice(&floats, place).and_then(|xs| xs.first()).map(|x| Attr::Float(*x)),
            "s" => slice(&texts, place).and_then(|xs| xs.first()).map(|x| Attr::Str(x.clone())),
            "is" => slice(&ints, place).map(|xs| Attr::Ints(xs.to_vec())),
            "fs" => slice(&floats, place).map(|xs| Attr::Floats(xs.to_vec())),
            "ss" => slice(&texts, place).map(|xs| Attr::Strs(xs.to_vec())),
            _ => return Err(Error::input(format!("the attribute `{key}` is of an unknown type `{ty}`"))),
        };
        attrs.push((intern(key), attr.ok_or_else(|| Error::input(format!("the attribute `{key}` has no value")))?));
    }
    Ok(attrs)
}

fn slice<'a, T>(all: &'a [T], place: &[i64]) -> Option<&'a [T]> {
    let [start, end] = place else { return None };
    all.get(usize::try_from(*start).ok()?..usize::try_from(*end).ok()?)
}

fn strs(args: &Args, cx: &mut Builder, name: &str) -> Result<Vec<String>> {
    Ok(args.opt_strs(cx, name)?.unwrap_or_default())
}
