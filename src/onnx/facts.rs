//! Facts about opsets and dtypes: static tables that the build makes of `mappings/opsets.toml` and `mappings/dtypes.toml`.

include!(concat!(env!("OUT_DIR"), "/facts.rs"));
