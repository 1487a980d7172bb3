//! Gives the shared library its SONAME when an installation asks for one.
//!
//! A library in the build folder has none, so that programs linked against it find it under the
//! name that cargo gives it. `SLUICEGATE_SONAME=libsluicegate.so.1` is set by the install step.

fn main() {
    println!("cargo::rerun-if-env-changed=SLUICEGATE_SONAME");
    println!("cargo::rerun-if-changed=build.rs");
    if let Ok(name) = std::env::var("SLUICEGATE_SONAME") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{name}");
    }
}
