//! What walks leave behind beside their results: the branches, the `since` and the helpers that they reached. Errors about branches that no path
//! takes are made of what all roots reached.

use std::collections::{BTreeMap, HashSet};

use super::opsets::Opsets;
use crate::source::Span;

/// Something that a walk reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// A branch, by its number.
    Arm(u32, Opsets),
    /// The body of a rule or helper, by its header.
    Body(Span),
    /// A `since` in place of a value: its opset, and the opsets that reach it.
    SinceValue(Span, u32, Opsets),
    /// A `since` statement: its opset, and whether the opset just below needs it.
    SinceStatement(Span, u32, bool),
    /// What the walk of a call reached: its number in the log.
    Call(u32),
}

/// What walks reached, by call.
#[derive(Debug, Clone, Default)]
pub(super) struct Log {
    calls: Vec<Vec<Event>>,
    /// Of the call that is being walked.
    open: Vec<Event>,
}

impl Log {
    pub fn note(&mut self, event: Event) {
        if self.open.last() != Some(&event) {
            self.open.push(event);
        }
    }

    /// Begins with another call. Returns what [`Log::end`] needs.
    pub fn begin(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.open)
    }

    /// Ends a call and gives it a number.
    pub fn end(&mut self, outer: Vec<Event>) -> u32 {
        self.calls.push(std::mem::replace(&mut self.open, outer));
        u32::try_from(self.calls.len() - 1).unwrap_or(u32::MAX)
    }

    /// Adds what these calls reached, with what they called, to a trace. `seen` are the calls that it has.
    fn add_to(&self, trace: &mut Trace, first: u32, seen: &mut HashSet<u32>, moved: &Moved) {
        let mut open = vec![first];
        while let Some(number) = open.pop() {
            if !seen.insert(number) {
                continue;
            }
            for event in self.calls.get(number as usize).into_iter().flatten() {
                match event {
                    Event::Call(inner) => open.push(*inner),
                    event => trace.add(*event, moved),
                }
            }
        }
    }
}

/// What walks reached together.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// The opsets that reach each branch, by its number.
    pub arms: Vec<Opsets>,
    /// The headers of the rules and helpers that were walked.
    pub walked: HashSet<Span>,
    /// By place: the opset of a `since` in place of a value, and the opsets that reach it.
    pub since_values: BTreeMap<Span, (u32, Opsets)>,
    /// By place: the opset of a `since` statement, and whether the opset just below needs it.
    pub since_statements: BTreeMap<Span, (u32, bool)>,
}

impl Trace {
    /// Nothing, of rules with this number of branches.
    pub fn new(arms: usize) -> Trace {
        Trace { arms: vec![Opsets::NONE; arms], ..Trace::default() }
    }

    /// All that a log has.
    pub fn of(log: &Log, arms: usize) -> Trace {
        let (mut trace, moved) = (Trace::new(arms), Moved::default());
        log.calls.iter().flatten().chain(&log.open).for_each(|event| trace.add(*event, &moved));
        trace
    }

    /// Adds what calls of a log reached that was kept since rules moved.
    pub fn add_calls(&mut self, log: &Log, calls: impl Iterator<Item = u32>, moved: &Moved) {
        let mut seen = HashSet::new();
        calls.for_each(|call| log.add_to(self, call, &mut seen, moved));
    }

    fn add(&mut self, event: Event, moved: &Moved) {
        match event {
            Event::Arm(arm, at) => {
                if let Some(all) = self.arms.get_mut(moved.arm(arm) as usize) {
                    *all = all.or(at);
                }
            }
            Event::Body(header) => drop(self.walked.insert(moved.span(header))),
            Event::SinceValue(site, since, at) => {
                let known = self.since_values.entry(moved.span(site)).or_insert((since, Opsets::NONE));
                known.1 = known.1.or(at);
            }
            Event::SinceStatement(site, since, needed) => {
                self.since_statements.entry(moved.span(site)).or_insert((since, false)).1 |= needed;
            }
            Event::Call(_) => {}
        }
    }
}

/// Where rules are that did not change while text beside them did. By default, where they were.
#[derive(Debug, Clone, Default)]
pub struct Moved {
    /// The new number of each branch, by the old one.
    pub arms: Vec<u32>,
    /// The items of the files that changed, in their order: where they were, and where they begin now.
    pub items: Vec<(Span, u32)>,
}

impl Moved {
    fn arm(&self, old: u32) -> u32 {
        self.arms.get(old as usize).copied().unwrap_or(old)
    }

    fn span(&self, old: Span) -> Span {
        let at = self.items.partition_point(|(item, _)| (item.file, item.end) <= (old.file, old.start));
        let is_around = |item: &Span| item.file == old.file && item.start <= old.start;
        let Some((item, start)) = self.items.get(at).filter(|(item, _)| is_around(item)) else { return old };
        let moved = |place: u32| place - item.start + start;
        Span { file: old.file, start: moved(old.start), end: moved(old.end) }
    }
}
