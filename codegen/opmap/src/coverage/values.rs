//! What the proof knows of a value: a set that contains every value that an export can have there.

use std::rc::Rc;

use super::opsets::Opsets;
use crate::types::Ty;
use aten2onnx_schemas::dtypes::DtypeSet;

/// The set of values that an expression may have. `Never` is the empty set.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Abs {
    /// There is no value: every path to it is refused.
    Never,
    /// Tensors, and sequences and optionals of tensors.
    Tensor(Tensor),
    /// `int`, `float`, `SymInt`, `Scalar`
    Number(Number),
    /// `bool`
    Truth(Truth),
    /// `str`
    Text(Text),
    /// `ScalarType`
    Dtype(DtypeSet),
    /// `T?`
    Optional(Optional),
    /// `T[]`
    List(List),
    /// `(A, B)`
    Tuple(Rc<[Abs]>),
    /// `graph`
    Graph(Graph),
    /// Anything.
    Any,
}

/// A graph as a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Graph {
    /// The least number of inputs that it takes.
    pub least: u32,
    /// The largest number.
    pub most: u32,
    /// Its results.
    pub results: List,
}

/// Tensors.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Tensor {
    /// Their dtypes.
    pub dtypes: DtypeSet,
    /// Their ranks.
    pub ranks: Ranks,
    /// Whether the elements are known during the export.
    pub known: Known,
    /// Whether the size of the last dimension is known during the export.
    pub last: Known,
    /// The elements of a tensor that was made from numbers: a list, or a number for a tensor without dimensions.
    pub elements: Option<Rc<Abs>>,
    /// It is what a `lower .. avoided` is given, unchanged.
    pub is_given: bool,
}

/// A set of numbers of dimensions, as bits. The last bit stands for all larger ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ranks(u16);

/// Whether a value is known during the export: it may be, it may not be, or both. Of one that may not be, whether it may be what nodes
/// compute, and not only what a caller gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Known(u8);

/// Numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Number {
    /// Whether they are known during the export.
    pub known: Known,
    /// Those that are known.
    pub values: Values,
    /// What a `Scalar` holds.
    pub kinds: Kinds,
}

/// Known numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Values {
    /// Any.
    Any,
    /// Integers between two bounds, which are included.
    Between(i64, i64),
    /// One float, by its bits.
    Float(u64),
    /// ONNX's numbers of these dtypes.
    Codes(DtypeSet),
}

/// Kinds of Python numbers, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Kinds(u8);

/// The opsets at which a condition may be true, and those at which it may be false.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Truth {
    /// It may be true.
    pub yes: Opsets,
    /// It may be false.
    pub no: Opsets,
}

/// Texts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Text {
    /// Any.
    Any,
    /// These, sorted.
    These(Rc<[String]>),
}

/// An optional value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Optional {
    /// It may be absent.
    pub absent: bool,
    /// Its value if it is present; `Never` if it cannot be.
    pub present: Rc<Abs>,
}

/// A list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct List {
    /// Its least length.
    pub least: u32,
    /// Its largest length.
    pub most: u32,
    /// Each element, if their number is known. Then `each` contains all of them.
    pub items: Option<Rc<[Abs]>>,
    /// Any of the elements.
    pub each: Rc<Abs>,
}

/// Larger sets of texts become all texts.
const MOST_TEXTS: usize = 12;

/// Longer lists are described by one element.
pub const MOST_ITEMS: usize = 16;

impl Ranks {
    /// The number that stands for itself and all larger ones.
    const LAST: u32 = 15;
    /// All.
    pub const ALL: Ranks = Ranks(u16::MAX);
    /// None.
    pub const NONE: Ranks = Ranks(0);

    /// One rank.
    pub fn one(rank: i64) -> Ranks {
        match u32::try_from(rank) {
            Ok(rank) => Ranks(1 << rank.min(Ranks::LAST)),
            Err(_) => Ranks::NONE,
        }
    }

    /// All between two bounds, which are included.
    pub fn between(low: i64, high: i64) -> Ranks {
        let last = i64::from(Ranks::LAST);
        let bound = |n: i64| n.clamp(0, last);
        if high < 0 || low > high {
            return Ranks::NONE;
        }
        (bound(low)..=bound(high)).fold(Ranks::NONE, |all, rank| all.or(Ranks::one(rank)))
    }

    /// Both.
    #[must_use]
    pub fn or(self, other: Ranks) -> Ranks {
        Ranks(self.0 | other.0)
    }

    /// What both have.
    #[must_use]
    pub fn and(self, other: Ranks) -> Ranks {
        Ranks(self.0 & other.0)
    }

    /// Without those of the other. The last one stays, because it stands for several.
    #[must_use]
    pub fn without(self, other: Ranks) -> Ranks {
        Ranks(self.0 & !(other.0 & !(1 << Ranks::LAST)))
    }

    /// Whether a rank is among them.
    pub fn has(self, rank: i64) -> bool {
        self.0 & Ranks::one(rank).0 != 0
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The rank, if there is only one.
    pub fn only(self) -> Option<i64> {
        let (low, high) = self.bounds();
        (low == high && !self.is_empty()).then_some(low)
    }

    /// The least and the largest.
    pub fn bounds(self) -> (i64, i64) {
        if self.is_empty() {
            return (0, 0);
        }
        let high = i64::from(15 - self.0.leading_zeros());
        let high = if high == i64::from(Ranks::LAST) { i64::from(i32::MAX) } else { high };
        (i64::from(self.0.trailing_zeros()), high)
    }

    /// The rank of the result of broadcasting.
    #[must_use]
    pub fn broadcast(self, other: Ranks) -> Ranks {
        let (low, high) = (self.bounds(), other.bounds());
        Ranks::between(low.0.max(high.0), low.1.max(high.1)).and(Ranks(self.0 | other.0))
    }

    /// Each rank plus each number between two bounds.
    #[must_use]
    pub fn plus(self, low: i64, high: i64) -> Ranks {
        let (least, most) = self.bounds();
        Ranks::between(least.saturating_add(low).max(0), most.saturating_add(high))
    }
}

impl Known {
    /// Certainly known.
    pub const YES: Known = Known(1);
    /// Certainly not known.
    pub const NO: Known = Known(2);
    /// Either.
    pub const MAYBE: Known = Known(3);
    /// The bit of what nodes compute.
    const GRAPH: u8 = 4;

    /// The same of what nodes compute.
    #[must_use]
    pub fn of_graph(self) -> Known {
        if self.may_not() { Known(self.0 | Known::GRAPH) } else { self }
    }

    /// Whether it may be what nodes compute.
    pub fn may_be_of_graph(self) -> bool {
        self.may_not() && self.0 & Known::GRAPH != 0
    }

    /// Whether it may be known.
    pub fn may(self) -> bool {
        self.0 & 1 != 0
    }

    /// Whether it may be unknown.
    pub fn may_not(self) -> bool {
        self.0 & 2 != 0
    }

    /// Either of both.
    #[must_use]
    pub fn or(self, other: Known) -> Known {
        Known(self.0 | other.0)
    }

    /// Whether both are known.
    #[must_use]
    pub fn with(self, other: Known) -> Known {
        let known = self.may() && other.may();
        let unknown = self.may_not() || other.may_not();
        let graph = (self.0 | other.0) & Known::GRAPH;
        Known(u8::from(known) | if unknown { Known::NO.0 | graph } else { 0 })
    }

    /// What remains if it is, or is not, known. None if nothing does.
    pub fn only(self, known: bool) -> Option<Known> {
        let left = if known { self.0 & Known::YES.0 } else { self.0 & (Known::NO.0 | Known::GRAPH) };
        (left & Known::MAYBE.0 != 0).then_some(Known(left))
    }
}

impl Kinds {
    /// bool
    pub const BOOL: Kinds = Kinds(1);
    /// int
    pub const INT: Kinds = Kinds(2);
    /// float
    pub const FLOAT: Kinds = Kinds(4);
    /// complex
    pub const COMPLEX: Kinds = Kinds(8);
    /// All but complex.
    pub const REAL: Kinds = Kinds(7);

    /// Both.
    #[must_use]
    pub fn or(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    /// Whether both have one in common.
    pub fn meets(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }

    /// The kind of a number of this dtype.
    pub fn of_dtypes(dtypes: DtypeSet) -> Kinds {
        let mut kinds = Kinds(0);
        for (set, kind) in [
            (DtypeSet::one("bool"), Kinds::BOOL),
            (DtypeSet::int(), Kinds::INT),
            (DtypeSet::float(), Kinds::FLOAT),
            (DtypeSet::complex(), Kinds::COMPLEX),
        ] {
            if dtypes.meets(set) {
                kinds = kinds.or(kind);
            }
        }
        kinds
    }
}

impl Number {
    /// A known integer between two bounds.
    pub fn between(low: i64, high: i64) -> Number {
        Number { known: Known::YES, values: Values::Between(low, high), kinds: Kinds::INT }
    }

    /// Any number of these kinds.
    pub fn any(known: Known, kinds: Kinds) -> Number {
        Number { known, values: Values::Any, kinds }
    }

    /// The only value, if it is known to be one integer.
    pub fn integer(&self) -> Option<i64> {
        match self.values {
            Values::Between(low, high) if low == high && !self.known.may_not() => Some(low),
            _ => None,
        }
    }

    /// The bounds of a known integer.
    pub fn bounds(&self) -> (i64, i64) {
        match self.values {
            Values::Between(low, high) => (low, high),
            _ => (i64::MIN, i64::MAX),
        }
    }
}

impl Values {
    /// Either of both.
    #[must_use]
    pub fn or(self, other: Values) -> Values {
        match (self, other) {
            (a, b) if a == b => a,
            (Values::Between(a, b), Values::Between(c, d)) => Values::Between(a.min(c), b.max(d)),
            (Values::Codes(a), Values::Codes(b)) => Values::Codes(a.or(b)),
            _ => Values::Any,
        }
    }
}

impl Truth {
    /// True at all these opsets.
    pub fn always(value: bool, at: Opsets) -> Truth {
        if value { Truth { yes: at, no: Opsets::NONE } } else { Truth { yes: Opsets::NONE, no: at } }
    }

    /// Not known at these opsets.
    pub fn either(at: Opsets) -> Truth {
        Truth { yes: at, no: at }
    }

    /// True if `yes`, false if `no`, or both.
    pub fn may(yes: bool, no: bool, at: Opsets) -> Truth {
        let when = |may: bool| if may { at } else { Opsets::NONE };
        Truth { yes: when(yes), no: when(no) }
    }

    /// The opposite.
    #[must_use]
    pub fn negated(self) -> Truth {
        Truth { yes: self.no, no: self.yes }
    }

    /// At these opsets only.
    #[must_use]
    pub fn at(self, at: Opsets) -> Truth {
        Truth { yes: self.yes.and(at), no: self.no.and(at) }
    }
}

impl Text {
    /// One text.
    pub fn one(text: &str) -> Text {
        Text::These([text.to_owned()].into())
    }

    fn or(&self, other: &Text) -> Text {
        let (Text::These(a), Text::These(b)) = (self, other) else { return Text::Any };
        let mut all: Vec<String> = a.iter().chain(b.iter()).cloned().collect();
        all.sort();
        all.dedup();
        if all.len() > MOST_TEXTS { Text::Any } else { Text::These(all.into()) }
    }
}

impl Optional {
    /// Nothing.
    pub fn nothing() -> Optional {
        Optional { absent: true, present: Rc::new(Abs::Never) }
    }

    /// Whether it may be present.
    pub fn may_be_present(&self) -> bool {
        *self.present != Abs::Never
    }
}

impl List {
    /// A list of these elements.
    pub fn of(items: Vec<Abs>) -> List {
        let each = items.iter().fold(Abs::Never, |all, item| all.or(item));
        let length = u32::try_from(items.len()).unwrap_or(u32::MAX);
        let items = (items.len() <= MOST_ITEMS).then(|| items.into());
        List { least: length, most: length, items, each: Rc::new(each) }
    }

    /// A list of `least` to `most` elements.
    pub fn between(least: i64, most: i64, each: Abs) -> List {
        let bound = |n: i64| u32::try_from(n.max(0)).unwrap_or(u32::MAX);
        let (least, most) = (bound(least), bound(most));
        let items = (least == most && least as usize <= MOST_ITEMS).then(|| vec![each.clone(); least as usize].into());
        List { least, most, items, each: Rc::new(each) }
    }

    /// A list with any number of these elements.
    pub fn any(each: Abs) -> List {
        List { least: 0, most: u32::MAX, items: None, each: Rc::new(each) }
    }

    fn or(&self, other: &List) -> List {
        let items = match (&self.items, &other.items) {
            (Some(a), Some(b)) if a.len() == b.len() => Some(a.iter().zip(b.iter()).map(|(a, b)| a.or(b)).collect()),
            _ => None,
        };
        List {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
            items,
            each: Rc::new(self.each.or(&other.each)),
        }
    }

    /// Both, one after the other.
    pub fn then(&self, other: &List) -> List {
        if let (Some(a), Some(b)) = (&self.items, &other.items) {
            return List::of(a.iter().chain(b.iter()).cloned().collect());
        }
        List {
            least: self.least.saturating_add(other.least),
            most: self.most.saturating_add(other.most),
            items: None,
            each: Rc::new(self.each.or(&other.each)),
        }
    }

    /// The list with another length.
    pub fn with_length(&self, least: i64, most: i64) -> List {
        List { ..List::between(least, most, (*self.each).clone()) }
    }

    /// The list with each element changed.
    pub fn map(&self, mut f: impl FnMut(&Abs) -> Abs) -> List {
        let items: Option<Rc<[Abs]>> = self.items.as_ref().map(|items| items.iter().map(&mut f).collect());
        let each = match &items {
            Some(items) => items.iter().fold(Abs::Never, |all, item| all.or(item)),
            None => f(&self.each),
        };
        List { least: self.least, most: self.most, items, each: Rc::new(each) }
    }
}

impl Tensor {
    /// Tensors of these dtypes, of which nothing else is known.
    pub fn of(dtypes: DtypeSet) -> Tensor {
        Tensor { dtypes, ranks: Ranks::ALL, known: Known::MAYBE, last: Known::MAYBE, elements: None, is_given: false }
    }

    fn or(&self, other: &Tensor) -> Tensor {
        let elements = match (&self.elements, &other.elements) {
            (Some(a), Some(b)) => Some(Rc::new(a.or(b))),
            _ => None,
        };
        Tensor {
            dtypes: self.dtypes.or(other.dtypes),
            ranks: self.ranks.or(other.ranks),
            known: self.known.or(other.known),
            last: self.last.or(other.last),
            elements,
            is_given: self.is_given && other.is_given,
        }
    }
}

impl Abs {
    /// Every value of a type. Tensors and dtypes are among `dtypes`.
    pub fn top(ty: &Ty, dtypes: DtypeSet, at: Opsets) -> Abs {
        let top = |ty: &Ty| Abs::top(ty, dtypes, at);
        let complex = dtypes.meets(DtypeSet::complex());
        match ty {
            Ty::Tensor => Abs::Tensor(Tensor::of(dtypes)),
            Ty::Int => Abs::Number(Number::between(i64::MIN, i64::MAX)),
            Ty::Float => Abs::Number(Number::any(Known::YES, Kinds::FLOAT)),
            Ty::Scalar => {
                let kinds = if complex { Kinds::REAL.or(Kinds::COMPLEX) } else { Kinds::REAL };
                Abs::Number(Number::any(Known::MAYBE, kinds))
            }
            Ty::SymInt => {
                let values = Values::Between(i64::MIN, i64::MAX);
                Abs::Number(Number { known: Known::MAYBE, values, kinds: Kinds::INT })
            }
            Ty::Bool => Abs::Truth(Truth::either(at)),
            Ty::Str => Abs::Text(Text::Any),
            Ty::ScalarType => Abs::Dtype(dtypes),
            Ty::List(of) => Abs::List(List::any(top(of))),
            Ty::Optional(of) => Abs::Optional(Optional { absent: true, present: Rc::new(top(of)) }),
            Ty::Tuple(parts) => Abs::Tuple(parts.iter().map(top).collect()),
            Ty::Opaque(_) | Ty::Graph => Abs::Any,
            Ty::Never => Abs::Never,
        }
    }

    /// Either of both.
    #[must_use]
    pub fn or(&self, other: &Abs) -> Abs {
        match (self, other) {
            (Abs::Never, value) | (value, Abs::Never) => value.clone(),
            (a, b) if a == b => a.clone(),
            (Abs::Tensor(a), Abs::Tensor(b)) => Abs::Tensor(a.or(b)),
            (Abs::Number(a), Abs::Number(b)) => Abs::Number(Number {
                known: a.known.or(b.known),
                values: a.values.or(b.values),
                kinds: a.kinds.or(b.kinds),
            }),
            (Abs::Truth(a), Abs::Truth(b)) => Abs::Truth(Truth { yes: a.yes.or(b.yes), no: a.no.or(b.no) }),
            (Abs::Text(a), Abs::Text(b)) => Abs::Text(a.or(b)),
            (Abs::Dtype(a), Abs::Dtype(b)) => Abs::Dtype(a.or(*b)),
            (Abs::Optional(a), Abs::Optional(b)) => {
                Abs::Optional(Optional { absent: a.absent || b.absent, present: Rc::new(a.present.or(&b.present)) })
            }
            (Abs::List(a), Abs::List(b)) => Abs::List(a.or(b)),
            (Abs::Tuple(a), Abs::Tuple(b)) if a.len() == b.len() => {
                Abs::Tuple(a.iter().zip(b.iter()).map(|(a, b)| a.or(b)).collect())
            }
            _ => Abs::Any,
        }
    }

    /// The value as one of a type: what is not known of it is any value of the type.
    #[must_use]
    pub fn fit(self, ty: &Ty, dtypes: DtypeSet, at: Opsets) -> Abs {
        let fits = match (&self, ty) {
            (Abs::Never, _) => return self,
            (Abs::Any, Ty::Graph | Ty::Opaque(_)) => return self,
            (Abs::Tensor(_), Ty::Tensor)
            | (Abs::Number(_), Ty::Int | Ty::Float | Ty::Scalar | Ty::SymInt)
            | (Abs::Truth(_), Ty::Bool)
            | (Abs::Text(_), Ty::Str)
            | (Abs::Dtype(_), Ty::ScalarType)
            | (Abs::Optional(_), Ty::Optional(_))
            | (Abs::List(_), Ty::List(_))
            | (Abs::Graph(_), Ty::Graph) => true,
            (Abs::Tuple(parts), Ty::Tuple(types)) => parts.len() == types.len(),
            _ => false,
        };
        if fits { self } else { Abs::top(ty, dtypes, at) }
    }

    /// The tensors among the values.
    pub fn tensor(&self) -> Option<&Tensor> {
        match self {
            Abs::Tensor(tensor) => Some(tensor),
            Abs::Optional(optional) => optional.present.tensor(),
            _ => None,
        }
    }

    /// Whether it is known during the export, for numbers and lists of them.
    pub fn known(&self) -> Known {
        match self {
            Abs::Number(number) => number.known,
            Abs::Tensor(tensor) => tensor.known,
            Abs::List(list) if list.most == 0 => Known::YES,
            Abs::List(list) => match &list.items {
                Some(items) => items.iter().fold(Known::YES, |all, item| all.with(item.known())),
                // The list may be empty.
                None if list.least == 0 => list.each.known().or(Known::YES),
                None => list.each.known(),
            },
            Abs::Optional(optional) => optional.present.known(),
            Abs::Truth(_) | Abs::Text(_) | Abs::Dtype(_) => Known::YES,
            _ => Known::MAYBE,
        }
    }

    /// The dtypes of all tensors inside.
    pub fn dtypes(&self) -> DtypeSet {
        match self {
            Abs::Tensor(tensor) => tensor.dtypes,
            Abs::Optional(optional) => optional.present.dtypes(),
            Abs::List(list) => list.each.dtypes(),
            Abs::Tuple(parts) => parts.iter().map(Abs::dtypes).fold(DtypeSet::NONE, DtypeSet::or),
            _ => DtypeSet::NONE,
        }
    }
}
