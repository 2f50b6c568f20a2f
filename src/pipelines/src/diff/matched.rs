//! Which values of two models are the same one: by what computes them, else by their names.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::super::index::{Index, place_of};
use super::nodes::Computed;

/// Two values that are the same one in two models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pair {
    /// The name in the first model.
    pub first: String,
    /// The name in the second model.
    pub second: String,
    /// The node of the first model that computes it.
    pub node: String,
    /// How they were matched.
    pub by: Match,
}

/// How two values were matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Match {
    /// Nodes that compute the same of the same.
    Structure,
    /// Their name.
    Name,
    /// Nodes of the same operators from the inputs on; the elements of weights may differ.
    Form,
    /// They are the same output of the model, in order.
    Output,
}

/// The values of two models that are the same, in an order in which the first model can compute them.
pub fn pairs(models: [&Index<'_>; 2], computed: [&[Computed]; 2]) -> Vec<Pair> {
    let mut matching = Matching { models, first: FxHashMap::default(), taken: FxHashSet::default() };
    matching.by(computed, |node| node.what, Match::Structure, false);
    matching.by_names();
    matching.by(computed, |node| node.form, Match::Form, true);
    matching.outputs();
    matching.in_order(computed)
}

/// The pairs that are found so far.
struct Matching<'a> {
    models: [&'a Index<'a>; 2],
    /// By the value of the first model.
    first: FxHashMap<&'a str, (&'a str, Match)>,
    /// The values of the second model that have one.
    taken: FxHashSet<&'a str>,
}

impl<'a> Matching<'a> {
    fn add(&mut self, one: &'a str, two: &'a str, by: Match) {
        if !self.first.contains_key(one) && self.taken.insert(two) {
            self.first.insert(one, (two, by));
        }
    }

    /// Matches nodes of the same number, in order. Where as many are wanted in both models, others are left.
    fn by(&mut self, computed: [&[Computed]; 2], number: impl Fn(&Computed) -> u64, by: Match, equally: bool) {
        let [one, two] = self.models;
        let open = |index: &Index<'a>, node: usize, is_known: &dyn Fn(&str) -> bool| {
            index.computes(node).any(|name| !is_known(name))
        };
        let mut groups: FxHashMap<u64, [Vec<usize>; 2]> = FxHashMap::default();
        let [a, b] = computed;
        for node in a.iter().filter(|node| open(one, node.number, &|name| self.first.contains_key(name))) {
            let [first, _] = groups.entry(number(node)).or_default();
            first.push(node.number);
        }
        for node in b.iter().filter(|node| open(two, node.number, &|name| self.taken.contains(name))) {
            let [_, second] = groups.entry(number(node)).or_default();
            second.push(node.number);
        }
        for [first, second] in groups.into_values().filter(|[a, b]| !equally || a.len() == b.len()) {
            for (a, b) in first.into_iter().zip(second) {
                for (name, other) in one.computes(a).zip(two.computes(b)).collect::<Vec<_>>() {
                    self.add(name, other, by);
                }
            }
        }
    }

    fn by_names(&mut self) {
        let [one, two] = self.models;
        let names = (0..one.nodes.len()).flat_map(|node| one.computes(node));
        let known: FxHashMap<&str, &'a str> =
            (0..two.nodes.len()).flat_map(|node| two.computes(node)).map(|name| (name, name)).collect();
        for name in names {
            if let Some(other) = known.get(name) {
                self.add(name, other, Match::Name);
            }
        }
    }

    fn outputs(&mut self) {
        let [one, two] = self.models;
        for (name, other) in one.outputs.iter().zip(&two.outputs) {
            if one.producer(name).is_some() && two.producer(other).is_some() {
                self.add(name, other, Match::Output);
            }
        }
    }

    fn in_order(self, [computed, _]: [&[Computed]; 2]) -> Vec<Pair> {
        let [one, _] = self.models;
        let mut pairs = Vec::new();
        for node in computed {
            let place = one.nodes.get(node.number).map(place_of).unwrap_or_default();
            for name in one.computes(node.number) {
                let Some((other, by)) = self.first.get(name) else { continue };
                pairs.push(Pair { first: name.to_owned(), second: (*other).to_owned(), node: place.clone(), by: *by });
            }
        }
        pairs
    }
}
