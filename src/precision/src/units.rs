//! Units: what computes in one precision. A node is a unit. So is a value that enters or leaves the bodies of If, Loop and Scan, because it has one type
//! on all its ways: a state of a Loop is given, read by the body, written by the body and returned.

use rustc_hash::FxHashMap;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Body, Graph, Node, Source, Type, Value};
use aten2onnx_onnx::schema::{self, Shape};

use crate::request::{Outside, Request};

/// The number of a unit.
pub(crate) type UnitId = usize;

/// A node, or a value that crosses the edges of bodies.
#[derive(Debug, Default)]
pub(crate) struct Unit {
    /// The node, in the order of [`Units::nodes`]; None for a value that crosses edges.
    pub node: Option<usize>,
    /// Float32 values that it reads in its precision.
    pub reads: Vec<Value>,
    /// Float32 values that it makes in its precision.
    pub makes: Vec<Value>,
}

/// What is known of a node.
#[derive(Debug)]
pub(crate) struct NodePorts {
    /// The operator.
    pub op: &'static str,
    /// Its name.
    pub name: String,
    /// Its origin.
    pub origin: u32,
    /// Its inputs.
    pub inputs: Vec<Value>,
    /// Its results.
    pub outputs: Vec<Value>,
    /// The precision that it reads an input in, by position.
    pub read: Vec<PortPrecision>,
    /// The precision that it makes a result in.
    pub made: Vec<PortPrecision>,
    /// Its unit, if it computes in a precision of its choice.
    pub unit: Option<UnitId>,
    /// The units of body inputs and outputs, by body.
    pub bodies: Vec<BodyPorts>,
    /// It has inputs or results of float32.
    pub is_wide: bool,
}

/// The precision of an input or a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PortPrecision {
    /// No float32 tensor: it stays as it is.
    Other,
    /// Always float32.
    Wide,
    /// As it comes.
    Any,
    /// That of a unit.
    Of(UnitId),
}

/// The precision of a body's inputs and outputs.
#[derive(Debug, Default)]
pub(crate) struct BodyPorts {
    pub inputs: Vec<PortPrecision>,
    pub outputs: Vec<PortPrecision>,
}

/// All units of a graph.
#[derive(Debug, Default)]
pub(crate) struct Units {
    pub all: Vec<Unit>,
    /// All nodes, outer ones first, in the order in which [`Body::visit`] comes to them.
    pub nodes: Vec<NodePorts>,
    /// Values that are read in float32, whatever the units choose.
    pub wide_reads: Vec<Value>,
    /// Values that leave the model in half precision.
    pub half_reads: Vec<Value>,
    /// Where a float32 value comes from, if it is computed.
    pub makers: FxHashMap<Value, MadeIn>,
    /// Values that are made in each turn of this many loops.
    pub turns: FxHashMap<Value, u32>,
    /// The loops around the node that is looked at.
    loops: u32,
}

/// What decides in which precision a value is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MadeIn {
    Wide,
    Half,
    Unit(UnitId),
}

impl Units {
    /// The units of a graph.
    pub fn of(graph: &Graph, request: &Request) -> Units {
        let mut units = Units::default();
        let outside = if request.outside == Outside::Half { MadeIn::Half } else { MadeIn::Wide };
        for input in graph.body.inputs.iter().filter(|value| is_wide(graph, **value)) {
            units.makers.insert(*input, outside);
        }
        units.body(graph, &graph.body, request.dtype);
        let outputs = graph.body.outputs.iter().copied().filter(|value| is_wide(graph, *value));
        match request.outside {
            Outside::Half => units.half_reads.extend(outputs),
            Outside::Float32 => units.wide_reads.extend(outputs),
        }
        units
    }

    fn body(&mut self, graph: &Graph, body: &Body, to: Dtype) {
        for node in &body.nodes {
            let place = self.place(graph, node, to);
            let number = self.nodes.len();
            if let Some(unit) = place.unit.and_then(|unit| self.all.get_mut(unit)) {
                unit.node = Some(number);
            }
            self.nodes.push(place);
            self.loops += u32::from(repeats(node));
            node.bodies().for_each(|inner| self.body(graph, inner, to));
            self.loops -= u32::from(repeats(node));
        }
    }

    /// A node with its units.
    fn place(&mut self, graph: &Graph, node: &Node, to: Dtype) -> NodePorts {
        let mut place = NodePorts {
            op: node.op,
            name: node.name.clone(),
            origin: node.origin,
            inputs: node.inputs.iter().flatten().copied().collect(),
            outputs: node.outputs.iter().flatten().copied().collect(),
            read: node.inputs.iter().map(|value| fixed(graph, *value)).collect(),
            made: node.outputs.iter().map(|value| fixed(graph, *value)).collect(),
            unit: None,
            bodies: Vec::new(),
            is_wide: false,
        };
        place.is_wide = place.read.contains(&PortPrecision::Wide) || place.made.contains(&PortPrecision::Wide);
        match schema::facts(node.op).shape {
            Shape::Branch | Shape::Loop | Shape::Scan => self.control(graph, node, &mut place),
            Shape::Cast => self.cast(graph, node, &mut place),
            _ => self.node(graph, node, to, &mut place),
        }
        self.note(node, &place);
        place
    }

    /// A node whose schema lets type variables be half precision: those of float32 inputs.
    fn node(&mut self, graph: &Graph, node: &Node, to: Dtype, place: &mut NodePorts) {
        for body in node.bodies() {
            let edges = |values: &[Value]| values.iter().map(|value| fixed(graph, Some(*value))).collect();
            place.bodies.push(BodyPorts { inputs: edges(&body.inputs), outputs: edges(&body.outputs) });
        }
        let Some(version) =
            schema::find_in_any_domain(node.op).and_then(|op| op.at(graph.version_of(node.domain_and_type().0)))
        else {
            return;
        };
        // The type of a sequence's elements is no type variable of its own.
        if node.inputs.iter().chain(&node.outputs).flatten().any(|value| holds_wide(graph, *value)) {
            return;
        }
        let positions = schema::facts(node.op).positions;
        let can = |port: &schema::Port| version.types.get(usize::from(port.ty)).is_some_and(|types| types.has(to));
        let changes = |i: usize| {
            let port = version.input_port(i)?;
            (place.read.get(i) == Some(&PortPrecision::Wide) && !positions.has(i) && can(port)).then_some(port.ty)
        };
        let variables: Vec<u8> = (0..node.inputs.len()).filter_map(changes).collect();
        if variables.is_empty() {
            return;
        }
        let unit = self.all.len();
        let of = |port: Option<&schema::Port>| port.is_some_and(|port| variables.contains(&port.ty));
        for (i, read) in place.read.iter_mut().enumerate() {
            if *read == PortPrecision::Wide && !positions.has(i) && of(version.input_port(i)) {
                *read = PortPrecision::Of(unit);
            }
        }
        // From opset 23 on its result has a type variable of its own, and without the attribute the type of the scale.
        let has_dtype_of_scale =
            schema::facts(node.op).shape == Shape::Dequantize && node.int("output_dtype").unwrap_or(0) == 0;
        for (i, made) in place.made.iter_mut().enumerate() {
            if *made == PortPrecision::Wide && (has_dtype_of_scale || of(version.output_port(i))) {
                *made = PortPrecision::Of(unit);
            }
        }
        self.all.push(Unit::default());
        place.unit = Some(unit);
    }

    /// A Cast reads any precision, unless its result needs all digits. To float32 it makes the precision of its choice.
    fn cast(&mut self, graph: &Graph, node: &Node, place: &mut NodePorts) {
        let dtype = |value: Option<Value>| value.map_or(Dtype::Undefined, |value| graph.ty(value).dtype());
        let (from, to) = (dtype(node.input(0)), dtype(node.outputs.first().copied().flatten()));
        if from == Dtype::Float32 && matches!(to, Dtype::Bool | Dtype::Float16 | Dtype::Bfloat16) {
            place.read.fill(PortPrecision::Any);
        }
        if to == Dtype::Float32 && place.made == [PortPrecision::Wide] {
            let unit = self.all.len();
            place.made = vec![PortPrecision::Of(unit)];
            if from == Dtype::Float32 {
                place.read = vec![PortPrecision::Of(unit)];
            }
            self.all.push(Unit::default());
            place.unit = Some(unit);
        }
    }

    /// The values that cross the edges of bodies.
    fn control(&mut self, graph: &Graph, node: &Node, place: &mut NodePorts) {
        let bodies: Vec<&Body> = node.bodies().collect();
        let edges = |body: &&Body| BodyPorts {
            inputs: body.inputs.iter().map(|value| fixed(graph, Some(*value))).collect(),
            outputs: body.outputs.iter().map(|value| fixed(graph, Some(*value))).collect(),
        };
        place.bodies = bodies.iter().map(edges).collect();
        // By a result: the first input that gives it, the body's input, and the body's output. States come before what each turn adds.
        let scanned = usize::try_from(node.int("num_scan_inputs").unwrap_or(0)).unwrap_or(0);
        let (states, skipped, inputs_before, outputs_before) = match schema::facts(node.op).shape {
            Shape::Branch => (0, 0, 0, 0),
            Shape::Loop => (node.inputs.len().saturating_sub(2), 2, 2, 1),
            _ => (node.inputs.len().saturating_sub(scanned), 0, 0, 0),
        };
        for i in 0..node.outputs.len().max(states) {
            let unit = self.all.len();
            let mut has_any = mark(&mut place.made, i, unit);
            for edges in &mut place.bodies {
                has_any |= mark(&mut edges.outputs, i + outputs_before, unit);
                if i < states {
                    has_any |= mark(&mut edges.inputs, i + inputs_before, unit);
                }
            }
            if i < states {
                has_any |= mark(&mut place.read, i + skipped, unit);
            }
            if has_any {
                self.all.push(Unit::default());
            }
        }
        // What a Scan reads in slices.
        for i in 0..if schema::facts(node.op).shape == Shape::Scan { scanned } else { 0 } {
            let unit = self.all.len();
            let mut has_any = mark(&mut place.read, states + i, unit);
            for edges in &mut place.bodies {
                has_any |= mark(&mut edges.inputs, states + i, unit);
            }
            if has_any {
                self.all.push(Unit::default());
            }
        }
        self.loops += u32::from(repeats(node));
        for (edges, body) in place.bodies.iter().zip(&bodies) {
            self.cross(body, edges);
        }
        self.loops -= u32::from(repeats(node));
    }

    /// Adds what crosses the edges of a body to its units.
    fn cross(&mut self, body: &Body, edges: &BodyPorts) {
        for (value, port) in body.inputs.iter().zip(&edges.inputs) {
            self.make(*value, *port);
        }
        for (value, port) in body.outputs.iter().zip(&edges.outputs) {
            self.read(*value, *port);
        }
    }

    /// Adds what a node reads and makes.
    fn note(&mut self, node: &Node, place: &NodePorts) {
        for (value, port) in node.inputs.iter().zip(&place.read) {
            if let Some(value) = value {
                self.read(*value, *port);
            }
        }
        for (value, port) in node.outputs.iter().zip(&place.made) {
            if let Some(value) = value {
                self.make(*value, *port);
            }
        }
        if !is_control(node.op) {
            for (body, edges) in node.bodies().zip(&place.bodies) {
                self.cross(body, edges);
            }
        }
    }

    fn read(&mut self, value: Value, port: PortPrecision) {
        match port {
            PortPrecision::Wide => self.wide_reads.push(value),
            PortPrecision::Of(unit) => self.all.get_mut(unit).into_iter().for_each(|unit| unit.reads.push(value)),
            PortPrecision::Any | PortPrecision::Other => {}
        }
    }

    fn make(&mut self, value: Value, port: PortPrecision) {
        if self.loops > 0 {
            self.turns.insert(value, self.loops);
        }
        match port {
            PortPrecision::Wide => drop(self.makers.insert(value, MadeIn::Wide)),
            PortPrecision::Of(id) => {
                self.makers.insert(value, MadeIn::Unit(id));
                self.all.get_mut(id).into_iter().for_each(|unit| unit.makes.push(value));
            }
            PortPrecision::Any | PortPrecision::Other => {}
        }
    }
}

/// Whether values cross the edges of an operator's bodies.
pub(crate) fn is_control(op: &str) -> bool {
    matches!(schema::facts(op).shape, Shape::Branch | Shape::Loop | Shape::Scan)
}

/// Whether the bodies of a node run again and again.
fn repeats(node: &Node) -> bool {
    matches!(schema::facts(node.op).shape, Shape::Loop | Shape::Scan)
}

/// Gives a float32 port to a unit; whether it is one.
fn mark(ports: &mut [PortPrecision], i: usize, unit: UnitId) -> bool {
    match ports.get_mut(i) {
        Some(port) if *port == PortPrecision::Wide => {
            *port = PortPrecision::Of(unit);
            true
        }
        _ => false,
    }
}

/// The precision of a value that stays as it is.
fn fixed(graph: &Graph, value: Option<Value>) -> PortPrecision {
    match value {
        Some(value) if is_wide(graph, value) => PortPrecision::Wide,
        _ => PortPrecision::Other,
    }
}

/// Whether a value is a float32 tensor.
pub(crate) fn is_wide(graph: &Graph, value: Value) -> bool {
    matches!(graph.ty(value), Type::Tensor { dtype: Dtype::Float32, .. })
}

/// Whether a value is a sequence or an optional of float32.
fn holds_wide(graph: &Graph, value: Value) -> bool {
    let ty = graph.ty(value);
    !ty.is_tensor() && ty.dtype() == Dtype::Float32
}

/// Whether a value is a constant or a weight.
pub(crate) fn is_stored(graph: &Graph, value: Value) -> bool {
    stored_sizes(graph, value).is_some()
}

/// The sizes of a constant or a weight.
pub(crate) fn stored_sizes(graph: &Graph, value: Value) -> Option<&[i64]> {
    match &graph.info(value).source {
        Source::Constant(constant) => Some(&constant.sizes),
        Source::Weight(weight) => Some(&weight.sizes),
        Source::Input | Source::Node => None,
    }
}
