//! What becomes of a call whose form is newer than its opset. This decision is made once: by the proof for sets of values, by the builder and
//! the interpreter for the values of a model, and by what prints a rule at one opset for a call whose values are not known yet.

/// How a version of an operator differs from the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// There is no version before.
    Appeared,
    /// Inputs, outputs, attributes or the meaning differ.
    Changed,
    /// Only the allowed types differ.
    Types,
    /// The schemas differ, but a `same` rule states that a call that is valid in both means the same.
    Same,
}

/// What is known of a question about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It is so for every value that the call can have.
    Yes,
    /// For none.
    No,
    /// For some.
    Maybe,
}

impl From<bool> for Answer {
    fn from(yes: bool) -> Answer {
        if yes { Answer::Yes } else { Answer::No }
    }
}

/// What is known of a call.
pub trait Known {
    /// Whether the version before takes all its dtypes.
    fn takes_types(&self) -> Answer;

    /// Whether the version before has its inputs, its outputs and its attributes, unless these have their default values.
    fn fits(&self) -> Answer;
}

/// A call of which only the text is known: what it has may be what the version before has, or not.
#[derive(Debug, Clone, Copy)]
pub struct Unseen;

impl Known for Unseen {
    fn takes_types(&self) -> Answer {
        Answer::Maybe
    }

    fn fits(&self) -> Answer {
        Answer::Maybe
    }
}

/// What a call can become at an opset before a version. Of a call with known values exactly one is true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fate {
    /// It is a call of the version before.
    pub older: bool,
    /// Its lowering replaces it.
    pub lowered: bool,
    /// Nothing can express it.
    pub refused: bool,
}

impl Fate {
    /// Whether the lowering replaces it, whatever its values are.
    pub fn is_lowered(self) -> bool {
        self.lowered && !self.older && !self.refused
    }
}

/// What a call can become below the version whose form it has. `has_lower`: whether there is a `lower` before this version.
pub fn below(difference: Difference, has_lower: bool, known: &impl Known) -> Fate {
    let older = match difference {
        Difference::Appeared | Difference::Changed => Answer::No,
        // A lowering is for the dtypes that the version before lacks. Without one they are cast, or refused there.
        Difference::Types if !has_lower => Answer::Yes,
        Difference::Types => known.takes_types(),
        Difference::Same => known.fits(),
    };
    let rest = older != Answer::Yes;
    Fate { older: older != Answer::No, lowered: rest && has_lower, refused: rest && !has_lower }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Told(Answer, Answer);

    impl Known for Told {
        fn takes_types(&self) -> Answer {
            self.0
        }

        fn fits(&self) -> Answer {
            self.1
        }
    }

    #[test]
    fn a_call_with_known_values_has_one_fate() {
        for difference in [Difference::Appeared, Difference::Changed, Difference::Types, Difference::Same] {
            for has_lower in [false, true] {
                for answer in [Answer::Yes, Answer::No] {
                    let fate = below(difference, has_lower, &Told(answer, answer));
                    assert_eq!([fate.older, fate.lowered, fate.refused].iter().filter(|is| **is).count(), 1);
                }
                // What may be is what is for one of both.
                let [yes, no, maybe] =
                    [Answer::Yes, Answer::No, Answer::Maybe].map(|a| below(difference, has_lower, &Told(a, a)));
                assert_eq!(maybe.older, yes.older || no.older);
                assert_eq!(maybe.lowered, yes.lowered || no.lowered);
                assert_eq!(maybe.refused, yes.refused || no.refused);
            }
        }
    }

    #[test]
    fn a_lowering_of_dtypes_is_for_those_that_the_older_version_lacks() {
        let fate = below(Difference::Types, true, &Told(Answer::Maybe, Answer::No));
        assert_eq!(fate, Fate { older: true, lowered: true, refused: false });
        let fate = below(Difference::Types, false, &Told(Answer::No, Answer::No));
        assert_eq!(fate, Fate { older: true, lowered: false, refused: false });
    }
}
