//! Higher-order operators: nested graphs become If, Loop and Scan.

use super::{Known, Translation, both_sides};
use aten2onnx_builder::{In, Out, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::facts::CONTROL;
use aten2onnx_onnx::graph::{Attr, Type, Value};
use aten2onnx_program::{Arg, Graph, Node, NodeOutput};

/// Operators that only run their graph.
const CALLS: &[&str] = &[
    "checkpoint",
    "invoke_subgraph",
    "strict_mode",
    "tag_activation_checkpoint",
    "wrap",
    "wrap_activation_checkpoint",
    "wrap_with_set_grad_enabled",
];

/// What is said where there is no If.
const BOTH_RUN: &str = "the runtime has no If: both sides of a branch run each time, and Where chooses";

/// Whether it can be translated.
pub fn is_known(operator: &str) -> bool {
    CALLS.contains(&operator)
        || matches!(operator, "cond" | "loop" | "while_loop" | "scan" | "map" | "map_impl" | "associative_scan")
}

impl Translation<'_> {
    pub(super) fn higher_order(&mut self, operator: &str, node: &Node, graph: &Graph) -> Result<()> {
        self.builder.set_origin(super::origin(node));
        let results = match operator {
            "cond" => self.cond(node)?,
            "loop" => self.counted_loop(node)?,
            "while_loop" => self.while_loop(node)?,
            "scan" => self.scan(node)?,
            "map" | "map_impl" => self.map(node)?,
            "associative_scan" => self.associative_scan(node)?,
            _ if CALLS.contains(&operator) => self.plain_call(node)?,
            _ => return Err(super::preflight::no_rule(self.shared.rules, &node.target)),
        };
        self.bind_known(node, results, graph)
    }

    /// Binds results to the names that the program gives them.
    fn bind_known(&mut self, node: &Node, results: Vec<Known>, graph: &Graph) -> Result<()> {
        let outs = results.into_iter().map(|known| match known {
            Known::Tensor(value) => Out::Tensor(value),
            Known::Number(number) => Out::Scalar(number),
            Known::Constant(_) => Out::None,
        });
        self.bind_outputs(node, outs.collect(), graph)
    }

    /// Inlines the graph of a call.
    fn plain_call(&mut self, node: &Node) -> Result<Vec<Known>> {
        let [graph] = graphs(node)?;
        let operands = self.operands_after_graphs(node)?.into_iter().flatten();
        // `invoke_subgraph` has the name of the graph among its operands.
        let operands = operands.filter(|known| !matches!(known, Known::Constant(Arg::Str(_)))).collect();
        self.call(graph, operands)
    }

    fn cond(&mut self, node: &Node) -> Result<Vec<Known>> {
        let [yes, no] = graphs(node)?;
        let condition = node.args.first().map(|(_, arg)| self.operands(arg)).transpose()?;
        let [condition] = condition.as_deref().unwrap_or_default() else {
            return Err(Error::input("`cond` has no condition"));
        };
        let condition = condition.clone();
        let operands: Vec<Known> = self.operands_after_graphs(node)?.into_iter().flatten().collect();
        if let Known::Number(number) = &condition
            && let Some(known) = number.as_bool()
        {
            return self.call(if known { yes } else { no }, operands);
        }
        let condition = self.known_value(condition)?;
        let wanted: Vec<bool> = node.outputs.iter().map(|output| *output != NodeOutput::None).collect();
        let then_branch = self.branch(yes, operands.clone(), &wanted)?;
        let else_branch = self.branch(no, operands, &wanted)?;
        let count = wanted.iter().filter(|wanted| **wanted).count();
        let operator = declared("If");
        let mut values = match (count, &then_branch, &else_branch) {
            (0, ..) => Vec::new(),
            (_, Attr::Graph(yes), Attr::Graph(no)) if self.builder.lacks(operator) => {
                let values = both_sides::chosen_results(self.builder, condition, (yes, no))?;
                self.shared.doubts.note(BOTH_RUN);
                values
            }
            _ => {
                let attrs = vec![("else_branch", else_branch), ("then_branch", then_branch)];
                self.builder.node(operator, vec![condition.into()], attrs, count)?
            }
        }
        .into_iter();
        let none = || Known::Constant(Arg::None);
        let result = |wanted: bool| if wanted { values.next().map_or_else(none, Known::Tensor) } else { none() };
        Ok(wanted.into_iter().map(result).collect())
    }

    /// A branch has no inputs; it reads outer values directly.
    fn branch(&mut self, graph: &Graph, operands: Vec<Known>, wanted: &[bool]) -> Result<Attr> {
        if graph.outputs.len() != wanted.len() {
            let message = format!("a branch has {} results, `cond` has {}", graph.outputs.len(), wanted.len());
            return Err(Error::input(message));
        }
        let (shared, symbols) = (self.shared, self.symbols.clone());
        self.builder.body(&[], |cx, _| {
            let mut inner = Translation { builder: cx, env: Default::default(), shared, symbols };
            let results = inner.call(graph, operands)?;
            let results = results.into_iter().zip(wanted).filter(|(_, wanted)| **wanted);
            results.map(|(known, _)| inner.known_value(known)).collect()
        })
    }

    /// Loop evaluates the condition at the end of each iteration.
    fn while_loop(&mut self, node: &Node) -> Result<Vec<Known>> {
        let [condition, body] = graphs(node)?;
        let mut lists = self.operands_after_graphs(node)?.into_iter();
        let carried = lists.next().unwrap_or_default();
        let more: Vec<Known> = lists.flatten().collect();
        let count = carried.len();
        let first: Vec<Known> = carried.iter().chain(&more).cloned().collect();
        let first = self.call_for_values(condition, first)?;
        let first = self.one_flag(&first)?;
        let mut starts: Vec<In> = vec![In::None, first.into()];
        for (index, known) in carried.into_iter().enumerate() {
            let value = self.known_value(known)?;
            self.check_operand(body, index, value)?;
            starts.push(value.into());
        }
        let attr = self.body_of(body, count, &more, Round::Loop(condition))?;
        let values = self.builder.node(declared("Loop"), starts, vec![("body", attr)], count)?;
        Ok(values.into_iter().map(Known::Tensor).collect())
    }

    /// `loop(body, count?, condition?, carried, more)` is ONNX's Loop: `body(index, carried.., more..) -> (condition?,
    /// carried.., slices..)`. Slices of all rounds are stacked.
    fn counted_loop(&mut self, node: &Node) -> Result<Vec<Known>> {
        let [graph] = graphs(node)?;
        let mut lists = self.operands_after_graphs(node)?.into_iter();
        let (count, flag) = (lists.next().unwrap_or_default(), lists.next().unwrap_or_default());
        let carried = lists.next().unwrap_or_default();
        let more: Vec<Known> = lists.flatten().collect();
        let has_condition = !matches!(flag.as_slice(), [] | [Known::Constant(Arg::None)]);
        let (symbols, shared) = (Some(self.symbols.clone().unwrap_or_default()), self.shared);
        let mut typed = Translation { builder: &mut *self.builder, env: Default::default(), shared, symbols };
        let mut params = Vec::with_capacity(carried.len());
        for index in 0..carried.len() {
            params.push(typed.parameter(graph, index + 1)?);
        }
        let dtypes: Vec<Dtype> = params.iter().map(Type::dtype).collect();
        let mut starts: Vec<In> = vec![
            self.optional_number(count, Dtype::Int64)?,
            if has_condition { self.optional_number(flag, Dtype::Bool)? } else { In::None },
        ];
        for (known, dtype) in carried.into_iter().zip(&dtypes) {
            let value = self.known_value(known)?;
            starts.push(self.builder.cast(value, *dtype)?.into());
        }
        // Loop has two inputs at least, also without values that are carried.
        if let [_, flag] = starts.as_mut_slice()
            && matches!(flag, In::None)
        {
            *flag = self.known_value(Known::Number(Scalar::Bool(true)))?.into();
        }
        let symbols = self.symbols.clone();
        let all: Vec<Type> =
            [Type::sized(Dtype::Int64, &[]), Type::sized(Dtype::Bool, &[])].into_iter().chain(params).collect();
        let body = self.builder.body(&all, |cx, values| {
            let mut inner = Translation { builder: cx, env: Default::default(), shared, symbols };
            let (own, rest) = values.split_at(values.len().min(2));
            let [index, flag] = own else {
                return Err(Error::internal("a loop without its own parameters"));
            };
            let bound = std::iter::once(index).chain(rest).enumerate();
            let bound = bound.map(|(at, value)| Translation::bound_parameter(graph, at, *value));
            let operands = bound.chain(more.iter().cloned()).collect();
            let results = inner.call(graph, operands)?;
            let mut outs = if has_condition { Vec::new() } else { vec![*flag] };
            for (at, known) in results.into_iter().enumerate() {
                let value = inner.known_value(known)?;
                let at = at.checked_sub(usize::from(has_condition));
                let dtype = at.map_or(Some(&Dtype::Bool), |at| dtypes.get(at));
                outs.push(match dtype {
                    Some(dtype) => inner.builder.cast(value, *dtype)?,
                    None => value,
                });
            }
            Ok(outs)
        })?;
        let count = node.outputs.len();
        let values = self.builder.node(declared("Loop"), starts, vec![("body", body)], count)?;
        Ok(values.into_iter().map(Known::Tensor).collect())
    }

    /// A number as the input of a node, which may be left out.
    fn optional_number(&mut self, known: Vec<Known>, dtype: Dtype) -> Result<In> {
        match known.into_iter().next() {
            None | Some(Known::Constant(Arg::None)) => Ok(In::None),
            Some(known) => {
                let value = self.known_value(known)?;
                let value = self.builder.cast(value, dtype)?;
                self.builder.reshape(value, &[]).map(In::from)
            }
        }
    }

    /// `combine(carried.., slices.., more..) -> (carried.., results..)` along the first dimension.
    fn scan(&mut self, node: &Node) -> Result<Vec<Known>> {
        let lists = self.operands_after_graphs(node)?;
        let plain = |known: &&Vec<Known>| !matches!(known.as_slice(), [Known::Number(n)] if n.is_known());
        if let Some(options) = lists.iter().find(|list| !plain(list))
            && !matches!(options.as_slice(), [Known::Number(n)] if n.as_bool() == Some(false))
        {
            return Err(Error::unsupported("`scan` backwards or along another dimension than the first")
                .help("current versions of torch export it along the first dimension"));
        }
        let mut lists = lists.iter().filter(plain).cloned();
        let (states, scanned) = (lists.next().unwrap_or_default(), lists.next().unwrap_or_default());
        self.scanned(node, states, scanned, lists.flatten().collect())
    }

    fn map(&mut self, node: &Node) -> Result<Vec<Known>> {
        let mut lists = self.operands_after_graphs(node)?.into_iter();
        let scanned = lists.next().unwrap_or_default();
        self.scanned(node, Vec::new(), scanned, lists.flatten().collect())
    }

    fn scanned(
        &mut self,
        node: &Node,
        states: Vec<Known>,
        scanned: Vec<Known>,
        more: Vec<Known>,
    ) -> Result<Vec<Known>> {
        let [body] = graphs(node)?;
        if scanned.is_empty() {
            return Err(Error::unsupported("a scan needs an input to iterate over"));
        }
        let (carried, slices) = (states.len(), scanned.len());
        let attr = self.body_of(body, carried + slices, &more, Round::Scan)?;
        let mut inputs: Vec<In> = Vec::with_capacity(carried + slices);
        for (index, known) in states.into_iter().chain(scanned).enumerate() {
            let value = self.known_value(known)?;
            self.check_operand(body, index, value)?;
            inputs.push(value.into());
        }
        let attrs = vec![("body", attr), ("num_scan_inputs", Attr::Int(slices as i64))];
        let values = self.builder.node(declared("Scan"), inputs, attrs, body.outputs.len())?;
        Ok(values.into_iter().map(Known::Tensor).collect())
    }

    /// `combine(so far.., next.., more..)` is associative: it is applied from the first to the last. The first row goes through the Scan, too, and is
    /// taken as it is: ONNX Runtime (1.31) takes no Scan without rows, which the rest of one row would be.
    fn associative_scan(&mut self, node: &Node) -> Result<Vec<Known>> {
        let [body] = graphs(node)?;
        let mut lists = self.operands_after_graphs(node)?.into_iter();
        let scanned = lists.next().unwrap_or_default();
        let more: Vec<Known> = lists.flatten().collect();
        let count = scanned.len();
        let attr = self.body_of(body, 2 * count, &more, Round::Running)?;
        let is_first = self.known_value(Known::Number(Scalar::Bool(true)))?;
        let (mut starts, mut rows) = (vec![In::from(is_first)], Vec::with_capacity(count));
        for (index, known) in scanned.into_iter().enumerate() {
            let value = self.known_value(known)?;
            self.check_operand(body, index, value)?;
            self.check_operand(body, count + index, value)?;
            let list = |number: i64| In::from(vec![number]);
            let first = vec![value.into(), list(0), list(1), list(0)];
            let first = self.builder.node1(declared("Slice"), first, vec![])?;
            starts.push(In::from(self.builder.node1(declared("Squeeze"), vec![first.into(), list(0)], vec![])?));
            rows.push(In::from(value));
        }
        let attrs = vec![("body", attr), ("num_scan_inputs", Attr::Int(count as i64))];
        let inputs = starts.into_iter().chain(rows).collect();
        let values = self.builder.node(declared("Scan"), inputs, attrs, 1 + 2 * count)?;
        Ok(values.into_iter().skip(1 + count).map(Known::Tensor).collect())
    }

    /// The body of a Loop or Scan: the first `count` inputs of the graph are parameters, the others are outer values.
    fn body_of(&mut self, graph: &Graph, count: usize, more: &[Known], round: Round<'_>) -> Result<Attr> {
        let symbols = Some(self.symbols.clone().unwrap_or_default());
        let shared = self.shared;
        let mut typed = Translation { builder: &mut *self.builder, env: Default::default(), shared, symbols };
        let mut params = round.own_parameters();
        for index in 0..count {
            params.push(typed.parameter(graph, index)?);
        }
        // The parameters' sizes represent those of the inputs, from which the call learns them.
        let symbols = self.symbols.clone();
        let skipped = round.own_parameters().len();
        self.builder.body(&params, |cx, values| {
            let mut inner = Translation { builder: cx, env: Default::default(), shared, symbols };
            let own = values.iter().skip(skipped).enumerate();
            let own: Vec<Known> =
                own.map(|(index, value)| Translation::bound_parameter(graph, index, *value)).collect();
            let operands = own.into_iter().chain(more.iter().cloned()).collect();
            match round {
                Round::Scan => inner.call_for_values(graph, operands),
                Round::Running => {
                    let results = inner.call_for_values(graph, operands)?;
                    let mut all = vec![inner.known_value(Known::Number(Scalar::Bool(false)))?];
                    let is_first =
                        values.first().copied().ok_or_else(|| Error::internal("a scan without its own parameter"))?;
                    let rows = values.iter().skip(skipped + results.len());
                    for (row, result) in rows.zip(results) {
                        let choice = vec![is_first.into(), (*row).into(), result.into()];
                        all.push(inner.builder.node1(declared("Where"), choice, vec![])?);
                    }
                    all.extend_from_within(1..);
                    Ok(all)
                }
                Round::Loop(condition) => {
                    let results = inner.call(graph, operands)?;
                    let next = results.iter().chain(more).cloned().collect();
                    let flag = inner.call_for_values(condition, next)?;
                    let mut all = vec![inner.one_flag(&flag)?];
                    for known in results {
                        all.push(inner.known_value(known)?);
                    }
                    Ok(all)
                }
            }
        })
    }

    /// A condition as a 0-dim value.
    fn one_flag(&mut self, values: &[Value]) -> Result<Value> {
        match values {
            [flag] => self.builder.reshape(*flag, &[]),
            _ => Err(Error::input(format!("a condition must be one value, not {}", values.len()))),
        }
    }

    /// The operands after the graphs of a node, by argument.
    fn operands_after_graphs(&self, node: &Node) -> Result<Vec<Vec<Known>>> {
        let last = node.args.iter().rposition(|(_, arg)| matches!(arg, Arg::Graph(_)));
        let operands = node.args.iter().skip(last.map_or(0, |last| last + 1));
        operands.map(|(_, arg)| self.operands(arg)).collect()
    }
}

/// What a body does in each iteration.
#[derive(Clone, Copy)]
enum Round<'a> {
    /// It carries all values, and evaluates this graph to decide whether to continue.
    Loop(&'a Graph),
    /// It carries some values and returns slices of the other results.
    Scan,
    /// It returns a slice for each carried value. The first slice is taken as it is.
    Running,
}

impl Round<'_> {
    /// The parameters before those of the graph.
    fn own_parameters(self) -> Vec<Type> {
        use aten2onnx_core::dtype::Dtype::{Bool, Int64};
        match self {
            Round::Loop(_) => vec![Type::sized(Int64, &[]), Type::sized(Bool, &[])],
            Round::Running => vec![Type::sized(Bool, &[])],
            Round::Scan => Vec::new(),
        }
    }
}

/// The nested graphs of a node, if their number matches.
fn graphs<const N: usize>(node: &Node) -> Result<[&Graph; N]> {
    let graphs = node.args.iter().filter_map(|(_, arg)| match arg {
        Arg::Graph(graph) => Some(&**graph),
        _ => None,
    });
    let graphs: Vec<&Graph> = graphs.collect();
    let count = graphs.len();
    graphs.try_into().map_err(|_| Error::input(format!("expected {N} nested graphs, found {count}")))
}

/// An operator of which the rule compiler proved that it exists at every opset, or is lowered.
fn declared(op: &'static str) -> &'static str {
    debug_assert!(CONTROL.contains(&op), "`control` in mappings/opsets.toml must list {op}");
    op
}
