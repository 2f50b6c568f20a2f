//! The graph in its new precisions. A value that is read in another precision than it is made in is cast once, right after it is made; a constant is
//! stored in each precision that it is read in.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::{Narrowed, narrowed_bytes};
use aten2onnx_onnx::graph::{Attr, Body, Constant, Graph, Node, Origin, Source, Value, ValueInfo};
use aten2onnx_onnx::schema::{self, Shape};

use crate::request::{Outside, Request};
use crate::units::{BodyPorts, MadeIn, PortPrecision, Units, is_stored, is_wide};

/// The number of float32 in attributes.
const FLOAT32: i64 = 1;

/// Rewrites the graph and returns how many casts it has more.
pub(crate) fn rewrite(graph: &mut Graph, units: &Units, choices: &[bool], request: &Request) -> usize {
    let mut body = std::mem::take(&mut graph.body);
    let needs = Needs::of(graph, units, choices);
    let outputs: FxHashSet<Value> = body.outputs.iter().copied().collect();
    let mut rewriter = GraphRewriter {
        names: graph.values.iter().map(|info| info.name.clone()).collect(),
        nodes: units.nodes.iter().map(|node| node.name.clone()).collect(),
        graph,
        units,
        choices,
        dtype: request.dtype,
        pairs: FxHashMap::default(),
        next: 0,
        casts: 0,
        origin: None,
    };
    rewriter.pair(&needs, &outputs, request.outside);
    let outside = if request.outside == Outside::Half { MadeIn::Half } else { MadeIn::Wide };
    let edges = BodyPorts {
        inputs: body.inputs.iter().map(|_| PortPrecision::Any).collect(),
        outputs: body.outputs.iter().map(|_| PortPrecision::Any).collect(),
    };
    rewriter.body(&mut body, &edges);
    for output in &mut body.outputs {
        *output = rewriter.in_precision(*output, outside == MadeIn::Half);
    }
    let casts = rewriter.casts;
    graph.body = body;
    casts
}

/// The precisions in which a value is read.
#[derive(Debug, Default, Clone, Copy)]
struct Need {
    wide: bool,
    half: bool,
}

struct Needs {
    of: FxHashMap<Value, Need>,
    /// In the order of their numbers.
    order: Vec<Value>,
}

impl Needs {
    fn of(graph: &Graph, units: &Units, choices: &[bool]) -> Needs {
        let mut of: FxHashMap<Value, Need> = FxHashMap::default();
        for (unit, is_half) in units.all.iter().zip(choices) {
            for value in &unit.reads {
                let need = of.entry(*value).or_default();
                need.half |= *is_half;
                need.wide |= !*is_half;
            }
        }
        for value in &units.wide_reads {
            of.entry(*value).or_default().wide = true;
        }
        for value in &units.half_reads {
            of.entry(*value).or_default().half = true;
        }
        for value in units.makers.keys() {
            of.entry(*value).or_default();
        }
        let mut order: Vec<Value> = of.keys().copied().filter(|value| is_wide(graph, *value)).collect();
        order.sort_unstable();
        Needs { of, order }
    }
}

/// The two values that a float32 value becomes.
#[derive(Debug, Clone, Copy)]
struct Twins {
    wide: Option<Value>,
    half: Option<Value>,
    /// Whether it is made in half precision.
    made_half: bool,
}

struct GraphRewriter<'g> {
    graph: &'g mut Graph,
    units: &'g Units,
    choices: &'g [bool],
    dtype: Dtype,
    names: FxHashSet<String>,
    /// The names of nodes.
    nodes: FxHashSet<String>,
    pairs: FxHashMap<Value, Twins>,
    /// The number of the next node.
    next: usize,
    casts: usize,
    /// The origin of casts of inputs.
    origin: Option<u32>,
}

impl GraphRewriter<'_> {
    /// Decides what each value becomes. A value that has one type keeps its name, and so do outputs of the model.
    fn pair(&mut self, needs: &Needs, outputs: &FxHashSet<Value>, outside: Outside) {
        let mut replaced: FxHashMap<Value, [Option<Value>; 2]> = FxHashMap::default();
        for value in &needs.order {
            let need = needs.of.get(value).copied().unwrap_or_default();
            if is_stored(self.graph, *value) {
                let pair = self.stored(*value, need);
                replaced.insert(*value, [pair.wide, pair.half]);
                self.pairs.insert(*value, pair);
                continue;
            }
            let made_half = self.is_half(self.units.makers.get(value).copied());
            let is_output = outputs.contains(value);
            let keeps_wide = if is_output { outside == Outside::Float32 } else { !made_half };
            let (has_wide, has_half) = (need.wide || !made_half, need.half || made_half);
            let pair = if keeps_wide {
                Twins { wide: Some(*value), half: has_half.then(|| self.twin(*value, self.dtype)), made_half }
            } else {
                let wide = has_wide.then(|| self.twin(*value, Dtype::Float32));
                self.retype(*value);
                Twins { wide, half: Some(*value), made_half }
            };
            self.pairs.insert(*value, pair);
        }
        let initializers = std::mem::take(&mut self.graph.initializers);
        let stored = |value: Value| match replaced.get(&value) {
            Some(both) => both.to_vec(),
            None => vec![Some(value)],
        };
        self.graph.initializers = initializers.into_iter().flat_map(stored).flatten().collect();
        // Nodes that equal ones stand for are known by what the node makes.
        let sharers = std::mem::take(&mut self.graph.sharers);
        let made =
            |value: Value| self.pairs.get(&value).and_then(|pair| if pair.made_half { pair.half } else { pair.wide });
        self.graph.sharers =
            sharers.into_iter().map(|(value, origins)| (made(value).unwrap_or(value), origins)).collect();
    }

    fn is_half(&self, maker: Option<MadeIn>) -> bool {
        match maker {
            Some(MadeIn::Unit(unit)) => self.choices.get(unit).copied().unwrap_or(false),
            Some(MadeIn::Half) => true,
            Some(MadeIn::Wide) | None => false,
        }
    }

    /// A constant or a weight, in the precisions in which it is read.
    fn stored(&mut self, value: Value, need: Need) -> Twins {
        let half = need.half.then(|| self.narrowed(value)).flatten();
        let Some(source) = half else { return Twins { wide: Some(value), half: None, made_half: false } };
        if need.wide {
            let twin = self.twin(value, self.dtype);
            if let Some(info) = self.graph.values.get_mut(twin.index()) {
                info.source = source;
            }
            return Twins { wide: Some(value), half: Some(twin), made_half: false };
        }
        self.retype(value);
        if let Some(info) = self.graph.values.get_mut(value.index()) {
            info.source = source;
        }
        Twins { wide: None, half: Some(value), made_half: true }
    }

    fn narrowed(&self, value: Value) -> Option<Source> {
        match &self.graph.info(value).source {
            Source::Constant(constant) => {
                let bytes = narrowed_bytes(constant.bytes(), self.dtype);
                Some(Source::Constant(Constant::new(self.dtype, constant.sizes.clone(), bytes)))
            }
            Source::Weight(weight) => Some(Source::Weight(Arc::new(Narrowed::of(weight, self.dtype)?))),
            _ => None,
        }
    }

    /// Gives a value the dtype of half precision.
    fn retype(&mut self, value: Value) {
        let dtype = self.dtype;
        if let Some(info) = self.graph.values.get_mut(value.index()) {
            info.ty = info.ty.with_dtype(dtype);
        }
    }

    /// A new value of another dtype.
    fn twin(&mut self, value: Value, dtype: Dtype) -> Value {
        let info = self.graph.info(value);
        let (ty, source) = (info.ty.with_dtype(dtype), Source::Node);
        let base = format!("{}_{dtype}", info.name);
        let name = fresh(&mut self.names, base);
        let twin = Value::new(u32::try_from(self.graph.values.len()).unwrap_or(u32::MAX));
        self.graph.values.push(ValueInfo { name, ty, source });
        twin
    }

    /// A value in one of its precisions.
    fn in_precision(&self, value: Value, is_half: bool) -> Value {
        let Some(pair) = self.pairs.get(&value) else { return value };
        let found = if is_half { pair.half.or(pair.wide) } else { pair.wide.or(pair.half) };
        found.unwrap_or(value)
    }

    /// A value as a port reads or makes it.
    fn at(&self, value: Value, port: PortPrecision) -> Value {
        match port {
            PortPrecision::Other | PortPrecision::Wide => self.in_precision(value, false),
            PortPrecision::Any => self.pairs.get(&value).map_or(value, |pair| self.in_precision(value, pair.made_half)),
            PortPrecision::Of(unit) => self.in_precision(value, self.choices.get(unit).copied().unwrap_or(false)),
        }
    }

    fn body(&mut self, body: &mut Body, edges: &BodyPorts) {
        let mut nodes = Vec::with_capacity(body.nodes.len());
        for (input, port) in body.inputs.iter_mut().zip(&edges.inputs) {
            let given = *input;
            *input = self.at(given, *port);
            if self.pairs.get(&given).is_some_and(|pair| pair.wide.is_some() && pair.half.is_some()) {
                let origin = self.own_origin();
                nodes.extend(self.cast(given, origin));
            }
        }
        for mut node in std::mem::take(&mut body.nodes) {
            let units = self.units;
            let Some(place) = units.nodes.get(self.next) else { continue };
            self.next += 1;
            let made: Vec<Value> = node.outputs.iter().flatten().copied().collect();
            let origin = node.origin;
            remap(&mut node.inputs, &place.read, |value, port| self.at(value, port));
            remap(&mut node.outputs, &place.made, |value, port| self.at(value, port));
            if place.unit.is_some_and(|unit| self.choices.get(unit).copied().unwrap_or(false)) {
                self.attributes(&mut node);
            }
            let inner = node.attrs.iter_mut().flat_map(|(_, attr)| attr.bodies_mut());
            for (body, edges) in inner.zip(&place.bodies) {
                self.body(body, edges);
                for (output, port) in body.outputs.iter_mut().zip(&edges.outputs) {
                    *output = self.at(*output, *port);
                }
            }
            nodes.push(node);
            for value in made {
                nodes.extend(self.cast(value, origin));
            }
        }
        body.nodes = nodes;
    }

    /// The attributes of a node that computes in half precision.
    fn attributes(&self, node: &mut Node) {
        if schema::facts(node.op).shape == Shape::Cast {
            let to = aten2onnx_onnx::model::number(self.dtype).map_or(FLOAT32, i64::from);
            set(node, "to", Attr::Int(to));
        }
        let version = schema::find(node.op).and_then(|op| op.at(self.graph.opset));
        // A softmax inside of a product sums in float32.
        if version.is_some_and(|version| version.attribute("softmax_precision").is_some())
            && node.attr("softmax_precision").is_none()
        {
            set(node, "softmax_precision", Attr::Int(FLOAT32));
        }
    }

    /// The cast after a value is made, if it is read in both precisions.
    fn cast(&mut self, value: Value, origin: u32) -> Option<Node> {
        let Twins { wide: Some(wide), half: Some(half), made_half } = *self.pairs.get(&value)? else { return None };
        let (from, to, dtype) = if made_half { (half, wide, Dtype::Float32) } else { (wide, half, self.dtype) };
        let number = aten2onnx_onnx::model::number(dtype).ok()?;
        self.casts += 1;
        let name = fresh(&mut self.nodes, format!("{}/Cast", self.graph.name(to)));
        let attrs = vec![("to", Attr::Int(number.into()))];
        Some(Node { op: "Cast", name, inputs: vec![Some(from)], outputs: vec![Some(to)], attrs, origin })
    }

    /// The origin of casts that belong to no node.
    fn own_origin(&mut self) -> u32 {
        *self.origin.get_or_insert_with(|| {
            self.graph.provenance.push(Origin { rule: "precision".into(), ..Origin::default() });
            u32::try_from(self.graph.provenance.len() - 1).unwrap_or(u32::MAX)
        })
    }
}

/// A name that is not among these yet, and is then.
fn fresh(names: &mut FxHashSet<String>, base: String) -> String {
    let mut name = base.clone();
    let mut number = 2;
    while !names.insert(name.clone()) {
        name = format!("{base}_{number}");
        number += 1;
    }
    name
}

fn remap(values: &mut [Option<Value>], ports: &[PortPrecision], at: impl Fn(Value, PortPrecision) -> Value) {
    for (value, port) in values.iter_mut().zip(ports) {
        *value = value.map(|value| at(value, *port));
    }
}

/// Sets an attribute, in the order of names.
fn set(node: &mut Node, name: &'static str, attr: Attr) {
    match node.attrs.binary_search_by(|(known, _)| (*known).cmp(name)) {
        Ok(at) => node.attrs.iter_mut().skip(at).take(1).for_each(|(_, known)| *known = attr.clone()),
        Err(at) => node.attrs.insert(at, (name, attr)),
    }
}
