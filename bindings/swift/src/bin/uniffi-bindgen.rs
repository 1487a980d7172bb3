//! Writes the Swift sources of this crate's interface; run by `cargo xtask gen`.

fn main() {
    uniffi::uniffi_bindgen_swift();
}
