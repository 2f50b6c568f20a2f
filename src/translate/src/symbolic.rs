//! `torch.onnx.ops.symbolic`: ONNX nodes that a PyTorch model contains.
//!
//! An operator of the default domain is checked against its schema in the version of the call, and converted to the
//! target opset. Other nodes are kept unchanged. Dtypes and shapes are those stated in the call.

use super::Translation;
use aten2onnx_builder::{Args, Builder, In, SourceNode};
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::graph::{Attr, Origin, Type, Value, intern};
use aten2onnx_onnx::schema::{self, AttrKind, Version};
use aten2onnx_program::{Graph, Node};

const TARGETS: [&str; 2] = ["onnx_symbolic::_symbolic", "onnx_symbolic::_symbolic_multi_out"];

/// Whether a node of the program represents an ONNX node.
pub(super) fn is_symbolic(target: &str) -> bool {
    TARGETS.contains(&target)
}

impl Translation<'_> {
    /// Emits the ONNX node that a node of the program represents.
    pub(super) fn symbolic(&mut self, node: &Node, graph: &Graph) -> Result<()> {
        let args = self.arguments(node)?;
        let (keys, values) =
            (strs(&args, self.builder, "metadata_props_keys")?, strs(&args, self.builder, "metadata_props_values")?);
        self.builder.set_origin(Origin { metadata: keys.into_iter().zip(values).collect(), ..super::origin(node) });
        if args.has_complex(self.builder) {
            return Err(Error::unsupported("ONNX nodes do not support complex numbers"));
        }
        let cx = &mut *self.builder;
        let (op, domain) = (args.str(cx, "op_type")?, args.opt_str(cx, "domain")?.unwrap_or_default());
        let version = args.opt_int(cx, "version")?.map(u32::try_from).transpose();
        let version = version.map_err(|_| Error::input("the version is negative"))?;
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

    /// A call of an operator of the default domain, in the form of a version or of the target.
    fn of_schema(&mut self, mut call: SourceNode, version: Option<u32>) -> Result<Vec<Value>> {
        let op = call.op;
        let schema = schema::find(op).ok_or_else(|| Error::input(format!("ONNX has no operator `{op}`")))?;
        let opset = version.unwrap_or(self.builder.opset().try_into().unwrap_or(u32::MAX));
        let Some(form) = schema.at(opset) else {
            let since = schema.versions.first().map_or(0, |version| version.since);
            let error = Error::input(format!("ONNX has no `{op}` at opset {opset}: it was added in {since}"));
            return Err(error.help(format!("state the version of the call: `version={since}`")));
        };
        for (name, attr) in &mut call.attrs {
            fit(form, op, name, attr)?;
        }
        self.builder.convert(&call, schema, form)
    }
}

/// Converts an attribute to the type in its schema; integers become floats if needed.
fn fit(form: &Version, op: &str, name: &str, attr: &mut Attr) -> Result<()> {
    // Unknown names are reported with the node.
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
            let text = format!("the attribute `{name}` of `{op}` must have type {kind:?}");
            return Err(Error::input(text));
        }
    }
    Ok(())
}

/// The attributes, which the call stores as lists by type: `attr_pos` contains their starts and ends.
fn attributes(args: &Args, cx: &mut Builder) -> Result<Vec<(&'static str, Attr)>> {
    let (keys, types) = (strs(args, cx, "attr_keys")?, strs(args, cx, "attr_types")?);
    let places = args.int_lists("attr_pos")?;
    let ints = args.opt_ints(cx, "attr_ints", None)?.unwrap_or_default();
    let floats = args.opt_floats(cx, "attr_floats", None)?.unwrap_or_default();
    let texts = strs(args, cx, "attr_strs")?;
    if keys.len() != types.len() || keys.len() != places.len() {
        return Err(Error::input("the numbers of names, types and positions of attributes differ"));
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
            _ => return Err(Error::input(format!("the attribute `{key}` has an unknown type `{ty}`"))),
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
