//! PyTorch's type promotion: tables that the build makes of `mappings/schemas/promotion.txt`.

include!(concat!(env!("OUT_DIR"), "/promotion.rs"));
