//! Enums whose values are words of a table.

/// A value that has a word in a table.
pub trait Word: Copy + 'static {
    /// All values, in order.
    const ALL: &[Self];

    /// The word in the table.
    fn word(self) -> &'static str;

    /// The value of a word.
    fn named(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.word() == word)
    }
}

/// An enum, its values in order, and the word of each.
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$doc:meta])* $value:ident = $word:literal,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$doc])* $value,)*
        }

        impl $name {
            /// The word in the table.
            pub fn word(self) -> &'static str {
                match self {
                    $($name::$value => $word,)*
                }
            }
        }

        impl $crate::Word for $name {
            const ALL: &[$name] = &[$($name::$value),*];

            fn word(self) -> &'static str {
                $name::word(self)
            }
        }
    };
}

pub(crate) use words;
