//! Which weights are quantized, in what blocks, and why others are not. Weights of the same elements, such as a tied embedding and head, are one choice.

use std::fmt;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use wildmatch::WildMatch;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::{QuantizedBlocks, Storage, Weight, row_major};
use aten2onnx_onnx::graph::{Node, Source, Value};
use aten2onnx_onnx::schema::{self, Integers};

use super::sites::{Along, Reading, WeightSite};
use super::{BlockLength, Operands, WeightQuantization};
use crate::build::Builder;

/// Weights with fewer elements stay as they are.
const SMALLEST: i64 = 1024;
/// The shortest block that is used where the one that is asked for does not fill a row.
const SHORTEST: i64 = 16;

/// A quantized weight.
#[derive(Debug)]
pub(in super::super) struct Chosen {
    pub blocks: Arc<QuantizedBlocks>,
    /// The sizes of the rows, whose axes are those of the weight in the order of `perm`.
    pub rows: Vec<i64>,
    pub perm: Vec<i64>,
    /// A channel has one scale.
    pub is_whole: bool,
    /// The length of a block.
    pub length: i64,
    /// All that read the weight sum over the same axis of it, or have the same channels.
    pub is_one_way: bool,
}

/// Why a weight stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Left {
    Asked,
    Read(&'static str),
    Small,
    Infinite,
    Large,
    Computed,
}

/// For people, after "stay as they are: ".
impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Left::Asked => f.write_str("as asked"),
            Left::Read(op) => write!(f, "{op} reads the floats, too"),
            Left::Small => write!(f, "fewer than {SMALLEST} elements"),
            Left::Infinite => f.write_str("infinities or NaN, which integers do not have"),
            Left::Large => f.write_str("numbers above those of the half precision"),
            Left::Computed => f.write_str("the elements are computed and come in another order"),
        }
    }
}

/// By the weight.
pub(super) type ChosenWeights = FxHashMap<Value, Chosen>;

/// All weights that are read where they may be quantized.
#[derive(Debug, Default)]
pub(in super::super) struct Choices {
    pub chosen: ChosenWeights,
    /// Products and convolutions multiply integers, with ranges of the run.
    pub(super) is_dynamic: bool,
    /// Values are rounded with ranges that were measured.
    pub(super) is_measured: bool,
    /// The results of nodes that stay as they are.
    skipped: FxHashSet<Value>,
    /// The addresses of blocks that products and lookups read: these have to find the same bytes.
    tied: FxHashSet<usize>,
    /// With their names.
    pub(super) left: Vec<(Left, String)>,
    /// The bytes of the quantized weights as floats, and their number; those that are stored once count once.
    pub(super) before: u64,
    pub(super) weights: usize,
    /// The elements, and the bytes of integers, scales and zero points.
    pub(super) elements: u64,
    pub(super) after: u64,
}

/// A weight that may be quantized.
struct Candidate {
    value: Value,
    weight: Weight,
    sites: Vec<WeightSite>,
}

/// Where the bytes of a weight are: tied weights have the same.
type WeightPlace = (usize, i64, usize);

/// Blocks by the place, the sizes and the strides of their rows.
type SharedBlocks = FxHashMap<(WeightPlace, Vec<i64>, Vec<i64>), Arc<QuantizedBlocks>>;

impl Choices {
    /// Decides for all weights.
    pub fn of(builder: &mut Builder, nodes: &[Node], wanted: &WeightQuantization) -> Result<Choices> {
        let results: Vec<Value> = builder.results_mut().map(|value| *value).collect();
        let builder = &*builder;
        let reading = Reading::of(builder, nodes, &results);
        let candidates = candidates(builder, &reading);
        let mut patterns = Skipped::of(&wanted.skip);
        // By the place: why it stays, if it does.
        let mut left: FxHashMap<WeightPlace, Option<Left>> = FxHashMap::default();
        for candidate in &candidates {
            let skipped = patterns.has(&candidate.weight.name, &candidate.sites);
            let why = if skipped { Some(Left::Asked) } else { left_as_it_is(&reading, candidate, wanted) };
            let known = left.entry(place(&candidate.weight)).or_default();
            *known = known.take().or(why);
        }
        let mut choices = Choices {
            is_dynamic: matches!(wanted.operands, Operands::Dynamic),
            is_measured: matches!(wanted.operands, Operands::Measured(_)),
            ..Choices::default()
        };
        if choices.is_measured {
            choices.skipped = patterns.results(&reading, nodes);
        }
        patterns.check()?;
        let mut shared: SharedBlocks = FxHashMap::default();
        let (mut told, mut kinds) = (Vec::new(), FxHashMap::default());
        for candidate in candidates {
            let place = place(&candidate.weight);
            let chosen = match left.get(&place).cloned().flatten() {
                Some(why) => Err(why),
                None => Chosen::of(&candidate, wanted, place, &mut shared).ok_or(Left::Computed),
            };
            match chosen {
                Ok(chosen) => {
                    choices.note_readers(&chosen, &candidate.sites, &mut kinds);
                    choices.add(candidate.value, chosen, !told.contains(&place));
                }
                Err(why) if !told.contains(&place) => choices.left.push((why, candidate.weight.name)),
                Err(_) => {}
            }
            told.push(place);
        }
        Ok(choices)
    }

    /// Whether the node that makes a value stays as it is.
    pub(super) fn is_skipped(&self, result: Value) -> bool {
        self.skipped.contains(&result)
    }

    /// Whether a weight is a part of blocks that products and lookups read.
    pub fn is_tied(&self, weight: &Weight) -> bool {
        let part = match &weight.storage {
            Storage::Quantized(part) => part,
            Storage::Digits(digits) => match &digits.source().storage {
                Storage::Quantized(part) => part,
                _ => return false,
            },
            _ => return false,
        };
        self.tied.contains(&(Arc::as_ptr(part.blocks()) as usize))
    }

    /// Notes whether lookups or others read these blocks.
    fn note_readers(&mut self, chosen: &Chosen, sites: &[WeightSite], kinds: &mut FxHashMap<usize, [bool; 2]>) {
        let address = Arc::as_ptr(&chosen.blocks) as usize;
        let known = kinds.entry(address).or_default();
        known[0] |= sites.iter().any(|site| site.op != "Gather");
        known[1] |= sites.iter().any(|site| site.op == "Gather");
        if *known == [true, true] {
            self.tied.insert(address);
        }
    }

    fn add(&mut self, value: Value, chosen: Chosen, is_first: bool) {
        if is_first {
            let source = chosen.blocks.source();
            let elements = chosen.rows.iter().product::<i64>().unsigned_abs();
            self.weights += 1;
            self.elements += elements;
            self.before += source.byte_len().unwrap_or(0);
            self.after += super::told::bytes(&chosen, elements);
        }
        self.chosen.insert(value, chosen);
    }
}

/// The weights with the nodes that read them, in the order of the first of these.
fn candidates(builder: &Builder, reading: &Reading<'_>) -> Vec<Candidate> {
    let mut order: Vec<Candidate> = Vec::new();
    let mut known: FxHashMap<Value, usize> = FxHashMap::default();
    for node in &reading.nodes {
        let Some((value, along)) = reading.weight(node) else { continue };
        let site = WeightSite::of(builder, node, along);
        match known.get(&value).and_then(|at| order.get_mut(*at)) {
            Some(candidate) => candidate.sites.push(site),
            None => {
                let Some(weight) = weight(builder, value) else { continue };
                known.insert(value, order.len());
                order.push(Candidate { value, weight, sites: vec![site] });
            }
        }
    }
    order
}

fn weight(builder: &Builder, value: Value) -> Option<Weight> {
    match builder.source(value) {
        Source::Weight(weight) => Some((**weight).clone()),
        Source::Constant(constant) => {
            let storage = Storage::Owned(constant.bytes().into());
            let (name, sizes) = ("constant".to_owned(), constant.sizes.clone());
            Some(Weight { name, dtype: constant.dtype, strides: row_major(&sizes), sizes, offset: 0, storage })
        }
        Source::Input | Source::Node => None,
    }
}

fn place(weight: &Weight) -> WeightPlace {
    let bytes = weight.storage.bytes();
    match weight.storage.is_computed() {
        true => (weight.storage.address(), 0, 0),
        false => (bytes.as_ptr() as usize, weight.offset, bytes.len()),
    }
}

/// Why a weight stays, if it does.
fn left_as_it_is(reading: &Reading<'_>, candidate: &Candidate, wanted: &WeightQuantization) -> Option<Left> {
    let weight = &candidate.weight;
    let is_small = weight.sizes.iter().product::<i64>() < SMALLEST;
    // A product of integers has integer weights, however few these are.
    if is_small && !matches!(wanted.operands, Operands::Measured(_)) {
        return Some(Left::Small);
    }
    if let Some(op) = reading.other_reader(candidate.value) {
        return Some(Left::Read(op));
    }
    let largest = weight.largest()?;
    let most = wanted.half.filter(|half| *half == Dtype::Float16).map_or(f32::MAX, |_| half::f16::MAX.to_f32());
    match largest {
        largest if !largest.is_finite() => Some(Left::Infinite),
        largest if largest > most => Some(Left::Large),
        _ => None,
    }
}

impl Chosen {
    fn of(
        candidate: &Candidate,
        wanted: &WeightQuantization,
        place: WeightPlace,
        shared: &mut SharedBlocks,
    ) -> Option<Chosen> {
        let weight = &candidate.weight;
        let along = candidate.sites.first()?.along;
        let perm = order(weight, along);
        let is_kept = perm.iter().enumerate().all(|(i, axis)| usize::try_from(*axis) == Ok(i));
        let source = if is_kept { weight.clone() } else { weight.transposed(Some(&perm))? };
        let (rows, strides) = (source.sizes.clone(), source.strides.clone());
        let row = match along {
            Along::Axis(_) => *rows.last()?,
            Along::Channel(_) => rows.get(1..)?.iter().product(),
        };
        let length = match wanted.block {
            BlockLength::Channel => row,
            BlockLength::Of(block) => fitting(row, block),
        };
        let is_whole = length == row;
        let sizes = match along {
            Along::Axis(_) if !is_whole => rows.clone(),
            _ => vec![rows.iter().product::<i64>() / row.max(1), row],
        };
        let scale = wanted.half.filter(|_| weight.dtype == Dtype::Float32).unwrap_or(weight.dtype);
        let blocks = match shared.get(&(place, rows.clone(), strides.clone())) {
            Some(blocks) => Arc::clone(blocks),
            None => {
                let how = (wanted.search, scale);
                let blocks = QuantizedBlocks::of(source, (&sizes, length), wanted.format, how)?;
                shared.insert((place, rows.clone(), strides), Arc::clone(&blocks));
                blocks
            }
        };
        let is_one_way = candidate.sites.iter().all(|site| site.along == along);
        Some(Chosen { blocks, rows, perm, is_whole, length, is_one_way })
    }
}

/// The axes of a weight so that what belongs together comes last, and the others as they are stored.
fn order(weight: &Weight, along: Along) -> Vec<i64> {
    let (Along::Axis(own) | Along::Channel(own)) = along;
    let mut rest: Vec<usize> = (0..weight.sizes.len()).filter(|axis| *axis != own).collect();
    if matches!(along, Along::Axis(_)) {
        rest.sort_by_key(|axis| std::cmp::Reverse(weight.strides.get(*axis).copied().unwrap_or(0)));
        rest.push(own);
    } else {
        rest.insert(0, own);
    }
    rest.into_iter().map(|axis| axis as i64).collect()
}

/// The longest block up to the one that is asked for that fills a row, preferably a power of two; else the row.
fn fitting(row: i64, asked: i64) -> i64 {
    let fills = |length: &i64| row % length == 0;
    let halves = std::iter::successors(Some(asked), |length| (length % 2 == 0).then_some(length / 2));
    let found = halves.take_while(|length| *length >= SHORTEST.min(asked)).find(fills);
    found.or_else(|| (SHORTEST..asked.min(row)).rev().find(fills)).unwrap_or(row)
}

/// The patterns of what stays as it is.
struct Skipped(Vec<(String, Vec<WildMatch>, bool)>);

impl Skipped {
    fn of(patterns: &[String]) -> Skipped {
        let of = |text: &String| {
            let below = ["", ".*", "/*"].map(|rest| WildMatch::new(&format!("{text}{rest}")));
            (text.clone(), below.to_vec(), false)
        };
        Skipped(patterns.iter().map(of).collect())
    }

    /// The results of nodes that a pattern names, or whose weight one names.
    fn results(&mut self, reading: &Reading<'_>, nodes: &[Node]) -> FxHashSet<Value> {
        let mut found = FxHashSet::default();
        for node in nodes.iter().filter(|node| schema::facts(node.op).integers != Integers::No) {
            let name = reading.weight(node).and_then(|(value, _)| Some(weight(reading.builder, value)?.name));
            let name = name.as_deref().unwrap_or(&node.name);
            if self.has(name, &[WeightSite::of(reading.builder, node, Along::Axis(0))]) {
                found.extend(node.outputs.iter().flatten());
            }
        }
        found
    }

    /// Whether a pattern names the weight, or what reads it.
    fn has(&mut self, weight: &str, sites: &[WeightSite]) -> bool {
        let mut is_any = false;
        for (_, below, is_used) in &mut self.0 {
            let names = |name: &str| below.iter().any(|pattern| pattern.matches(name));
            let is_site =
                |site: &WeightSite| names(site.op) || names(&site.name) || site.module.as_deref().is_some_and(names);
            let is_named = names(weight) || sites.iter().any(is_site);
            *is_used |= is_named;
            is_any |= is_named;
        }
        is_any
    }

    /// # Errors
    /// A pattern that names nothing.
    fn check(&self) -> Result<()> {
        match self.0.iter().find(|(_, _, is_used)| !is_used) {
            None => Ok(()),
            Some((text, ..)) => Err(Error::unsupported(format!(
                "no weight that can be quantized is named `{text}`, and none is read by such an operator, node or module"
            ))
            .help("write a module such as `lm_head`, a weight such as `lm_head.weight`, or an operator such as `Gather`; `*` stands for any text")),
        }
    }
}
