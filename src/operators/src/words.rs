//! Enums whose values are words of a table.

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
            /// All values, in order.
            pub const ALL: &[$name] = &[$($name::$value),*];

            /// The word in the table.
            pub fn word(self) -> &'static str {
                match self {
                    $($name::$value => $word,)*
                }
            }

            /// The value of a word.
            pub fn named(word: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|value| value.word() == word)
            }
        }
    };
}

pub(crate) use words;
